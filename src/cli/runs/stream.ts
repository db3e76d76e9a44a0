import type { DurableChunk, DurableRun, RunInfo, Runs } from '../../durable/index.ts'
import { viewOf } from '../../durable/storeView.ts'
import { compactionOf } from '../../messages/compaction.ts'
import { toolCallsOf, toolResultsOf } from '../../messages/messages.ts'
import { type Invocation, textOption } from '../command.ts'
import { describeError, exit, onInterrupt, showError } from '../outcome.ts'
import { AnswerView, callLine, compactionLine, resultLine } from '../progress.ts'
import type { Screen } from '../Screen.ts'
import { namedRun, pendingLines, type RunsAction } from './action.ts'
import { shellWord, storeOption } from './openStore.ts'

/** The time between two checks that the program that runs the agents is still there. */
const ownerMs = 1000

export const stream: RunsAction = {
  name: 'stream',
  operands: '<id>',
  summary: 'its text as it comes, up to its end or a wait',
  options: ['after', 'json'],
  run: async (invocation, runs) => {
    const { screen, values, words } = invocation
    const run = await namedRun(runs, words)
    const left = new AbortController()
    const release = onInterrupt(() => left.abort())
    const owner = watchOwner(runs, screen)
    const view = new AnswerView(screen)
    const show = values.json === true ? showJson(screen) : showText(screen, view)
    const after = textOption(invocation, 'after')
    let last = after
    try {
      const chunks = followRun(run, { signal: left.signal, ...(after !== undefined && { after }) })
      let next = await chunks.next()
      for (; !next.done; next = await chunks.next()) {
        last = next.value.cursor
        show(next.value.cursor, next.value.chunk)
      }
      screen.endLine()
      if (left.signal.aborted) return leave(invocation, run.id, last)
      return showOutcome(invocation, next.value, last)
    } finally {
      clearInterval(owner)
      release()
    }
  },
}

type Show = (cursor: string, chunk: DurableChunk) => void

const showJson =
  (screen: Screen): Show =>
  (cursor, chunk) =>
    screen.json({ cursor, ...chunk })

const showText =
  (screen: Screen, view: AnswerView): Show =>
  (_, chunk) => {
    const note = (line: string) => screen.note(screen.notePaint.dim(`  · ${screen.clip(line)}`))
    view.show(chunk)
    for (const call of chunk.messages.flatMap(toolCallsOf)) note(callLine(call))
    for (const result of chunk.messages.flatMap(toolResultsOf)) note(resultLine(result))
    for (const compaction of chunk.messages.map(compactionOf))
      if (compaction) note(compactionLine(compaction))
  }

/** Notes once that no program is continuing the run. */
const watchOwner = (runs: Runs, screen: Screen): NodeJS.Timeout => {
  let isSaid = false
  const look = async () => {
    if (isSaid || (await viewOf(runs)?.hasOwner())) return
    isSaid = true
    screen.note(
      screen.notePaint.yellow('No program is running these agents now: the run continues when one opens it.'),
    )
  }
  // The store may be away for a moment.
  return setInterval(() => void look().catch(() => {}), ownerMs).unref()
}

const leave = (invocation: Invocation, id: string, last: string | undefined): number => {
  invocation.screen.note('The run continues in the background.')
  noteCursor(invocation, id, last)
  return exit.aborted
}

const showOutcome = (invocation: Invocation, info: RunInfo, last: string | undefined): number => {
  const { screen } = invocation
  switch (info.status) {
    case 'complete':
      return exit.complete
    case 'aborted':
      screen.note(screen.notePaint.yellow('aborted'))
      return exit.aborted
    case 'failed':
    case 'abandoned': {
      const report = describeError(
        info.error ?? { name: 'OrchestrationError', message: `The run is ${info.status}.` },
      )
      showError(report, screen)
      return report.code
    }
    default:
      screen.note(screen.notePaint.yellow('It waits for:'))
      for (const line of pendingLines(info, storeOption(invocation))) screen.note(line)
      noteCursor(invocation, info.id, last)
      return exit.complete
  }
}

const noteCursor = (invocation: Invocation, id: string, last: string | undefined): void => {
  if (last === undefined) return
  const command = `statewire runs stream${storeOption(invocation)} ${shellWord(id)} --after ${last}`
  invocation.screen.note(invocation.screen.notePaint.dim(`Read on with: ${command}`))
}

/** The chunks of a run from a cursor on, past waits that are over, until the run ends or waits. Returns its status then. */
export async function* followRun(
  run: DurableRun,
  options: { after?: string; signal?: AbortSignal },
): AsyncGenerator<{ cursor: string; chunk: DurableChunk }, RunInfo> {
  let { after } = options
  for (;;) {
    let waited: DurableChunk['pendingApproval']
    const { signal } = options
    const reading = { ...(after !== undefined && { after }), ...(signal && { signal }) }
    for await (const shown of run.stream(reading)) {
      after = shown.cursor
      waited = shown.chunk.pendingApproval
      yield shown
    }
    const info = await run.info()
    const isPast = waited && !(info.status === 'waiting' && isSameWait(waited, info))
    if (!isPast || signal?.aborted) return info
  }
}

const isSameWait = ({ calls }: NonNullable<DurableChunk['pendingApproval']>, { pending }: RunInfo): boolean =>
  calls.length === pending.length && calls.every(({ id }, at) => pending[at]?.id === id)
