import { builtModule } from '../built.mjs'
import { wires } from '../wires/index.mjs'
import { heapUsed, peakOf } from './heap.mjs'

const { Agent } = await import(builtModule())

const options = { apiKey: 'none', retry: { maxRetries: 0 } }
const agentNamed = () => new Agent(wires['openai-chat'].model, options)

/** Many agents alive in one process: KiB of heap each while they do nothing, and whether all can run at once. */
export const agents = async ({ count }) => {
  // The first of each brings what all share.
  agentNamed().actor({ prompt: 'hi' })
  const kib = async (make) => {
    const before = await heapUsed()
    const held = Array.from({ length: count }, make)
    return ((await heapUsed()) - before) / held.length / 1024
  }
  const shared = agentNamed()
  return {
    agent: await kib(agentNamed),
    actor: await kib(() => shared.actor({ prompt: 'hi' })),
    agentWithActor: await kib(() => agentNamed().actor({ prompt: 'hi' })),
    ...(await runTogether(count)),
  }
}

/** Every run is held in the middle of its answer until all have come so far. */
const runTogether = async (count) => {
  const held = []
  const model = {
    provider: 'bench',
    model: 'held',
    profile: {
      tools: true,
      parallelTools: true,
      nativeSchema: true,
      schemaWithTools: true,
      thinking: true,
      attachments: {},
    },
    stream: (_, sink) => {
      queueMicrotask(() => {
        sink.deltas([{ type: 'text', text: 'The first half' }])
        held.push(sink)
        if (held.length === count) for (const each of held) finish(each)
      })
      return () => {}
    },
  }
  const finish = (sink) => {
    sink.deltas([
      { type: 'text', text: ' and the rest.' },
      { type: 'finish', reason: 'stop' },
    ])
    sink.end()
  }
  let results = []
  const { peakHeap } = await peakOf(async () => {
    results = await Promise.all(Array.from({ length: count }, () => new Agent(model, options).send('hi')))
  })
  const finished = results.filter(({ output }) => output === 'The first half and the rest.').length
  return { unfinished: count - finished, peakHeap }
}
