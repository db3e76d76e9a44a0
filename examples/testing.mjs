// Testing an agent: a scripted model plays what the real one would say, so a test needs no key, no network and no luck.
import assert from 'node:assert/strict'
import { Agent, ModelError, textOf, tool, toolResultsOf } from 'statewire'
import { createChart } from 'statewire/machines'
import { scriptedModel, TransitionCoverage } from 'statewire/testing'
import { z } from 'zod'

// What is under test: your tools, your prompt, your settings.
const transfers = []
const transfer = tool({
  name: 'transfer',
  description: 'Transfer money',
  input: z.object({ to: z.string(), euros: z.number().positive() }),
  execute: ({ to, euros }) => {
    transfers.push([to, euros])
    return `${euros} € sent to ${to}`
  },
})
const bank = (model, options) =>
  new Agent(model, { tools: [transfer], system: 'You are a bank.', ...options })

// One entry per call of the model; an entry is a text, or what arrives read by read.
const good = scriptedModel([
  [{ text: 'One moment. ' }, { toolCall: { name: 'transfer', arguments: { to: 'Ada', euros: 5 } } }],
  'Done.',
])
const { output } = await bank(good).send('5 € to Ada')
assert.equal(output, 'One moment. \nDone.')
assert.deepEqual(transfers, [['Ada', 5]])
assert.equal(textOf(good.requests[0].messages[0]), 'You are a bank.')
good.assertDone() // fails when a turn was not used, or one too many was asked for
console.log('ok: the tool ran once, with what the model said')

// A model that makes a mistake: the tool must not run, the model must learn why.
const careless = scriptedModel([
  [{ toolCall: { name: 'transfer', arguments: { to: 'Ada', euros: -5 } } }],
  'Sorry, that does not work.',
])
await bank(careless).send('Take 5 € from Ada')
const [refusal] = toolResultsOf(careless.requests[1].messages.at(-1))
assert.equal(transfers.length, 1)
assert.match(refusal.result, /do not fit the schema/)
console.log('ok: bad arguments never reach the tool:', refusal.result)

// A provider that fails, twice, then answers; and one that breaks off in the middle.
const flaky = { error: { message: 'overloaded', status: 529, retryable: true } }
const coverage = new TransitionCoverage(createChart({ model: good }))
const retry = { maxRetries: 2, initialDelayMs: 1 }
const recovered = await bank(scriptedModel([[flaky], [flaky], 'Hello.']), {
  retry,
  inspect: coverage.inspect,
}).send('Hi')
assert.equal(recovered.output, 'Hello.')
await assert.rejects(
  bank(scriptedModel([[{ text: 'Hel' }, { cut: true }]]), { retry }).send('Hi'),
  (error) => error instanceof ModelError && error.partial.output === 'Hel',
)
console.log('ok: failures are retried, and a cut answer is an error with the text so far')
console.log(
  `ok: the flaky run took ${[...coverage.counts.values()].filter(Boolean).length} kinds of transitions`,
)
