import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dieIn, moment } from './moments.ts'
import type { Report, Request } from './requests.ts'
import { storedRuns } from './storedRuns.ts'
import { subscribedRuns } from './subscribedRuns.ts'
import type { WorkerRuns } from './workerRuns.ts'
import { worldAgents } from './worldAgents.ts'

// A process that keeps runs, and does with them what its parent asks. It is killed again and again. Its argument is where
// the model is.

const modelUrl = process.argv[2] ?? ''
let opened: WorkerRuns | undefined
const streams = new Map<number, AbortController>()

const runs = (): WorkerRuns => {
  if (!opened) throw new Error('Nothing is open.')
  return opened
}

const answer = async (request: Request): Promise<unknown> => {
  switch (request.do) {
    case 'open': {
      if (request.dies) dieIn(request.dies)
      const keep = request.way === 'stored' ? storedRuns : subscribedRuns
      const agents = request.agents ? worldAgents({ modelUrl, ...request }) : {}
      // Some have room for a few runs only, and some open a link to the file.
      opened = await keep(
        request.folder,
        agents,
        request.variant === 1 ? 4 : undefined,
        request.variant === 2,
      )
      return
    }
    case 'close':
      await runs().close()
      opened = undefined
      return
    case 'start':
      return runs().start(request.plan)
    case 'send':
      return runs().send(request.id, request.command)
    case 'info':
      return runs().info(request.id)
    case 'outcome':
      return runs().outcome(request.id)
    case 'stream':
      return show(request)
    case 'leave':
      return streams.get(request.stream)?.abort()
    case 'die':
      return dieIn(request)
    case 'dropLocks':
      return dropLocks(request.folder)
  }
}

const show = async ({ number, id, after }: Extract<Request, { do: 'stream' }>): Promise<void> => {
  const leaving = new AbortController()
  streams.set(number, leaving)
  try {
    for await (const item of runs().stream(id, after, leaving.signal)) say({ says: 'chunk', number, item })
  } catch (thrown) {
    if (!leaving.signal.aborted) throw thrown
  }
  streams.delete(number)
}

/** Copies the files of the store. A process that closes a file loses all of its locks on it, whichever part of it has them. */
const dropLocks = (folder: string): void => {
  const copy = mkdtempSync(join(tmpdir(), 'statewire-copy-'))
  cpSync(folder, copy, { recursive: true })
  rmSync(copy, { recursive: true })
}

const say = (report: Report): void => void process.send?.(report)

/** An acknowledgement is an effect, too. */
const acknowledge = (report: Report): void => {
  moment('answer')
  say(report)
  moment('answer')
}

process.on('message', (request: Request) => {
  const { number } = request
  answer(request).then(
    (value) => acknowledge({ says: 'answer', number, answer: value }),
    (thrown) => acknowledge({ says: 'refused', number, problem: String(thrown) }),
  )
})
process.on('disconnect', () => process.exit())
process.once('SIGTERM', async () => {
  await opened?.close()
  process.exit(0)
})
