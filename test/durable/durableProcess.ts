// A process that uses a store, for tests that kill it: `node durableProcess.mjs <what> <file> …`.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { Agent } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import { toolResultsOf } from '../../src/messages/messages.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import { type ScriptStep, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'

const [what = '', path = '', id = '', argument = ''] = process.argv.slice(2)

const say = (word: string, data: unknown = ''): void =>
  void process.stdout.write(`${word} ${JSON.stringify(data)}\n`)

/** The pieces of a text. A slow model says one word, and nothing more before its process ends. */
const words = (text: string): ScriptStep[] =>
  text.split(/(?<= )/).flatMap((word) => [{ text: word }, { delayMs: argument === 'slow' ? 3_600_000 : 10 }])

/** A model whose answer follows from the request, so that it is the same again. */
const model: ChatModel = {
  ...scriptedModel([]),
  stream: (request, sink) => {
    const results = request.messages.flatMap(toolResultsOf).length
    const asks = (name: string) => ({ toolCall: { id: `${name}-${results}`, name } })
    const script: ScriptStep[] =
      [
        [...words('First I look around. '), asks('look')],
        [...words('Then I look again. '), asks('look')],
        [...words('Now I ask. '), asks('ask')],
      ][results] ?? words('That was all of it. ')
    return scriptedModel([script]).stream(request, sink)
  },
}

/** A gated call ends when the test has written its id into a file. */
const isLetThrough = (callId: string): boolean =>
  existsSync(`${path}.gate`) && readFileSync(`${path}.gate`, 'utf8').includes(callId)

const noting = (name: string, needsApproval: boolean) =>
  tool({
    name,
    description: name,
    needsApproval,
    execute: async (_, { callId }) => {
      appendFileSync(`${path}.log`, `${callId}\n`)
      do await new Promise((resolve) => setTimeout(resolve, 10))
      while (argument === 'gated' && !isLetThrough(callId))
      return `did ${callId}`
    },
  })

const deadly: ChatModel = {
  ...scriptedModel([]),
  stream: () => {
    process.kill(process.pid, 'SIGKILL')
    return () => {}
  },
}

/** Results of 20 kB, and as many of them as it was asked for. */
const filling: ChatModel = {
  ...scriptedModel([]),
  stream: (request, sink) => {
    const results = request.messages.flatMap(toolResultsOf).length
    const call = { toolCall: { id: `fill-${results}`, name: 'fill' } }
    return scriptedModel([results < Number(argument) ? [call] : 'Full.']).stream(request, sink)
  },
}
const fill = tool({ name: 'fill', description: 'Fills.', execute: async () => 'x'.repeat(20_000) })

const runs = await openRuns({
  store: sqlite(path),
  agents: {
    agent: new Agent(model, { tools: [noting('look', false), noting('ask', true)] }),
    deadly: new Agent(deadly),
    filling: new Agent(filling, { tools: [fill], maxSteps: 100 }),
  },
  maxRecoveries: id === 'doomed' ? 3 : 50,
})
say('open')

if (what === 'work') {
  const run = await runs.start('agent', 'Go', { id })
  say('started')
  const first = await run.result
  if (first.pendingApproval) {
    say('waiting')
    if (argument === 'approve') {
      const [{ id: callId }] = first.pendingApproval.calls
      await runs.send(id, { type: 'tool.approve', callId })
      say('approved')
    }
  }
  say('done', await (argument === 'approve' ? run.result : first))
} else if (what === 'send') {
  await runs.send(id, JSON.parse(argument))
  say('sent')
} else if (what === 'read') {
  const run = await runs.get(id)
  for (let after = argument || undefined; run; ) {
    let isWaiting = false
    for await (const { cursor, chunk } of run.stream(after === undefined ? {} : { after })) {
      say('chunk', { cursor, chunk })
      after = cursor
      isWaiting = chunk.pendingApproval !== undefined
    }
    if (!isWaiting) break
  }
} else if (what === 'result') {
  say('result', await (await runs.get(id))?.result)
} else if (what === 'die') {
  await runs.start('deadly', 'Go', { id })
  await new Promise((resolve) => setTimeout(resolve, 60_000))
} else if (what === 'fill') {
  const run = await runs.start('filling', 'Go', { id })
  const looking = setInterval(async () => {
    const { blocked, step } = await run.info()
    if (blocked !== undefined) say('blocked', { blocked, step })
  }, 50)
  run.result.finally(() => clearInterval(looking)).catch(() => {})
  say('filled', await run.result.catch(({ name, message }) => ({ name, message })))
} else if (what === 'hold') {
  const run = await runs.start('agent', 'Go', { id })
  await run.result
  say('resting')
  // Stays, as a server does.
  setInterval(() => {}, 1000)
} else if (what === 'idle') {
  // Nothing to do: it ends by itself.
}

if (what !== 'idle' && what !== 'hold') await runs.close()
