import type { DurableChunk, RunInfo, Runs } from '../../durable/index.ts'
import { viewOf } from '../../durable/sqlite/storeView.ts'
import { compactionOf } from '../../messages/compaction.ts'
import { toolCallsOf, toolResultsOf } from '../../messages/messages.ts'
import { AnswerView } from '../AnswerView.ts'
import { type Invocation, textOption } from '../command.ts'
import { describeError } from '../describeError.ts'
import { exit } from '../exit.ts'
import { onInterrupt } from '../interrupt.ts'
import { showError } from '../outcome.ts'
import type { Screen } from '../Screen.ts'
import { callLine, resultLine } from '../toolLine.ts'
import { compactionLine } from '../usageText.ts'
import { namedRun, type RunsAction } from './action.ts'
import { followRun } from './followRun.ts'
import { fileOption } from './openFile.ts'
import { pendingLines } from './pendingLines.ts'
import { shellWord } from './shellWord.ts'

/** How often to check whether the program that runs the agents is still there. */
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
      return tellEnd(invocation, next.value, last)
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

/** Says once that no program is continuing the run. */
const watchOwner = (runs: Runs, screen: Screen): NodeJS.Timeout => {
  let isSaid = false
  const look = () => {
    if (isSaid || viewOf(runs)?.hasOwner()) return
    isSaid = true
    screen.note(
      screen.notePaint.yellow(
        'No program is running these agents now: the run continues when one opens the file.',
      ),
    )
  }
  return setInterval(look, ownerMs).unref()
}

const leave = (invocation: Invocation, id: string, last: string | undefined): number => {
  invocation.screen.note('The run continues in the background.')
  tellCursor(invocation, id, last)
  return exit.aborted
}

const tellEnd = (invocation: Invocation, info: RunInfo, last: string | undefined): number => {
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
      for (const line of pendingLines(info, fileOption(invocation))) screen.note(line)
      tellCursor(invocation, info.id, last)
      return exit.complete
  }
}

const tellCursor = (invocation: Invocation, id: string, last: string | undefined): void => {
  if (last === undefined) return
  const command = `statewire runs stream${fileOption(invocation)} ${shellWord(id)} --after ${last}`
  invocation.screen.note(invocation.screen.notePaint.dim(`Read on with: ${command}`))
}
