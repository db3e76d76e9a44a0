/**
 * A run whose process dies after any of its commits goes on from there: nothing acknowledged is lost, and every reader,
 * also one that saw more than was stored, puts the right text together.
 */
import { expect, test } from 'vitest'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import type { DurableChunk, DurableRun, StoredRuns } from '../../src/durable/index.ts'
import { compactionOf } from '../../src/messages/compaction.ts'
import { type ChatMessage, toolResultsOf } from '../../src/messages/messages.ts'
import { tool } from '../../src/tools/tool.ts'
import { sampled } from '../proof/sample.ts'
import { copying } from './copying.ts'
import { opened, storeFile } from './storeFile.ts'
import { words, wordyModel } from './wordyModel.ts'

const answering = wordyModel(({ messages, tools = [] }) => {
  if (tools.length === 0) return words('I can only think here. ')
  const results = messages.flatMap(toolResultsOf).length
  if (results === 0)
    return [
      ...words('First I look around here. '),
      { toolCall: { id: 'c1', name: 'look' } },
      { toolCall: { id: 'c2', name: 'look' } },
    ]
  if (results === 2) return [...words('Now I ask you. '), { toolCall: { id: 'c3', name: 'ask' } }]
  return words('That was all of it. ')
})

const look = tool({
  name: 'look',
  description: 'Looks.',
  onInterrupted: 'rerun',
  execute: async () => 'a view',
})
const ask = tool({
  name: 'ask',
  description: 'Asks.',
  needsApproval: true,
  onInterrupted: 'rerun',
  execute: async () => 'a yes',
})

/** The text that a reader puts together. */
type Reading = { cursor: string | undefined; texts: string[]; text: string; messages: ChatMessage[] }

const take = (reading: Reading, cursor: string, chunk: DurableChunk): void => {
  reading.cursor = cursor
  if (chunk.metadata.restart) reading.text = ''
  reading.text += chunk.output
  if (chunk.messages.length === 0) return
  reading.messages.push(...chunk.messages)
  if (reading.text !== '') reading.texts.push(reading.text)
  reading.text = ''
}

/** Reads on from where a reading is, to the end of the run, and says yes to what it asks. */
const readToEnd = async (runs: StoredRuns, run: DurableRun, reading: Reading): Promise<Reading> => {
  for (;;) {
    const { cursor } = reading
    let isWaiting = false
    for await (const next of run.stream(cursor === undefined ? {} : { after: cursor })) {
      take(reading, next.cursor, next.chunk)
      isWaiting = next.chunk.pendingApproval !== undefined
    }
    if (!isWaiting) return reading
    for (const { id } of (await run.info()).pending)
      await runs.send(run.id, { type: 'tool.approve', callId: id }).catch((error) => {
        // The other reader was faster.
        expect(error.message).toMatch(/^No call "c3" waits|is over/)
      })
  }
}

const fresh = (): Reading => ({ cursor: undefined, texts: [], text: '', messages: [] })

const agents: [string, AgentOptions][] = [
  ['a plain agent', {}],
  ['parallel tools', { toolExecution: 'parallel' }],
  ['a compacted conversation', { compaction: { window: 200 } }],
  ['reasoning', { orchestrator: reasoningOrchestrator() }],
  ['reflection', { orchestrator: reflectionOrchestrator({ maxRounds: 1 }) }],
]

test.each(agents)(
  '%s goes on after any commit',
  async (_, options) => {
    const path = storeFile()
    const agent = new Agent(answering, { tools: [look, ask], ...options })
    const live = fresh()
    const copies: { copy: string; seen: Reading; seenLater: Reading }[] = []
    const driver = await copying(path, (copy) => {
      const seen = structuredClone(live)
      const last = copies.at(-1)
      // What was shown after a commit is lost if the process dies before the next one.
      if (last) last.seenLater = seen
      copies.push({ copy, seen, seenLater: seen })
    })
    const runs = await opened(path, { agent }, { driver, synchronous: 'normal' })
    const run = await runs.start('agent', 'Go', { id: 'job' })
    const whole = await readToEnd(runs, run, live)
    const result = await run.result
    expect(whole.messages).toEqual(result.messages)
    expect(result.messages.some(compactionOf)).toBe(options.compaction !== undefined)
    await runs.close()
    expect(copies.length).toBeGreaterThan(15)
    expect(copies.some(({ seen, seenLater }) => seenLater.text !== seen.text)).toBe(true)
    for (const { copy, seen, seenLater } of sampled(copies, 0.4)) {
      const later = await opened(copy, { agent }, { synchronous: 'normal' })
      const found = await later.get('job')
      // The first commit made the tables.
      if (!found) {
        expect(seen.cursor).toBeUndefined()
        await later.close()
        continue
      }
      const readers = await Promise.all(
        [fresh(), seen, seenLater].map((reading) => readToEnd(later, found, structuredClone(reading))),
      )
      expect({ copy, ...(await found.result) }).toEqual({ copy, ...result })
      for (const reader of readers)
        expect({ copy, texts: reader.texts, messages: reader.messages, rest: reader.text }).toEqual({
          copy,
          texts: whole.texts,
          messages: whole.messages,
          rest: '',
        })
      await later.close()
    }
  },
  120_000,
)
