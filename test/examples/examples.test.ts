import { readdirSync, readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { runScript } from '../runScript.ts'

// Each is a process of its own: on a busy machine they take their time.
vi.setConfig({ testTimeout: 600_000 })

/** What each example must print, in this order. */
const shows: Record<string, (string | RegExp)[]> = {
  'actor.mjs': [
    '[first] {"Accumulating":"Streaming"}',
    "[first] calls get_weather { city: 'Oslo' }",
    /stored in \d+ characters/,
    '[second] {"ToolExecution":"Working"}',
    '[second] result {"city":"Oslo","celsius":21}',
    '[second] "Complete"',
    /complete: .*\n.*21/,
  ],
  'approval.mjs': [
    'process asks: stopped with "toolCalls"',
    "delete_file { path: 'notes.txt' }",
    "delete_file { path: 'old.log' }",
    'process decides: deletes notes.txt',
    /process decides:[\s\S]*?Logs are kept for a year/,
  ],
  'customProvider.mjs': [
    'registered: parrot:ara can chat',
    'chunk: "Polly"\nchunk: " wants"\nchunk: " a"\nchunk: " statechart"',
    'stop { outputTokens: 4 }',
  ],
  'debugStreamingToolCalls.mjs': [
    /tool\.delta +0 get_weather/,
    /message +model text toolCall toolCall toolCall toolCall/,
    /message +user toolResult toolResult toolResult toolResult/,
    /end +stop/,
    'ok   4 calls have ids of their own',
    'ok   every call has its result, in call order',
    'ok   the results of a round are one user message',
    'ok   no text was dropped',
    'ok   user and model alternate',
  ],
  'debugToolAccumulation.mjs': [
    'ok   the arguments are [{"city":"Oslo"},{"city":"Rome"}]',
    'ok   the arguments are [{"city":"Oslo"},{"city":"Rome"}]',
    'ok   the arguments are [{}]',
    '"code":"truncated"',
    'ok   the arguments are []',
  ],
  'decision.mjs': ['Is it 50?', 'Is it 37?', 'Won.'],
  'embedding.mjs': [
    'ticket is in Drafting\n  looks for { number: 1204 }',
    /draft: [\s\S]*?1204[\s\S]*?ticket is in Review/,
    /ticket is in Drafting[\s\S]*?draft: [\s\S]*?1305/,
    'ticket is in Sent',
    '8 messages in the history',
  ],
  'inspector.mjs': [/Open http:\/\/127\.0\.0\.1:\d+\/\S+\//, /What is the weather in Oslo\? .*21/],
  'multiProvider.mjs': [
    'openai: What is the weather in Oslo?\n  POST /v1/chat/completions, 1 messages',
    'anthropic: And what is the weather in Rome?\n  POST /v1/messages, 5 messages',
    'openai: And what is the weather in Lima?\n  POST /v1/chat/completions, 9 messages',
    '12 messages, 0 problems',
  ],
  'orchestrator.mjs': ['first: A statechart is a state machine', 'shorter: A nested state machine.'],
  'plain.mjs': [
    /Oslo.*21/,
    'added to the history: user, model, user, model',
    /used: \{ inputTokens: \d+/,
    /Rome.*21/,
    'the chat has 8 messages',
  ],
  'testing.mjs': [
    'ok: the tool ran once, with what the model said',
    /ok: bad arguments never reach the tool: .*expected number to be >0/,
    'ok: failures are retried, and a cut answer is an error with the text so far',
    /ok: the flaky run took [1-9]\d* kinds of transitions/,
  ],
  'typed.mjs': [
    /title: \S+\n {2}Oslo, \d+ nights\n {2}Rome, \d+ nights/,
    /after [1-9]\d* updates: .*"name":"Bergen".*"name":"Lima"/,
    'OutputValidationError: The answer does not fit the schema: nothing is good enough',
    'the model had said: {"city":',
  ],
  'durableServer.mjs': [
    "job-7 waits for the approval of delete_file { path: 'notes.txt' }\nthe server was killed",
    /server \d+ deletes notes\.txt\njob-7: [\s\S]*notes\.txt is deleted/,
  ],
  'backgroundAgents.mjs': [
    /visit_hotels is at work[\s\S]*killed\n[\s\S]*visit_hotels is at work/,
    'get_hotels: city Rome, stars 4.',
    '3 results, stop',
  ],
  'webServer.mjs': ['asks for delete_file {"path":"notes.txt"}', 'Ada ', 'deleted ', 'notes.txt'],
}

const args: Record<string, string[]> = { 'inspector.mjs': ['--once'] }

/** The text after the thing that was looked for; undefined when it is not there. */
const after = (printed: string, wanted: string | RegExp): string | undefined => {
  const found = typeof wanted === 'string' ? wanted : wanted.exec(printed)?.[0]
  const at = found === undefined ? -1 : printed.indexOf(found)
  return at < 0 ? undefined : printed.slice(at + (found ?? '').length)
}

test.concurrent.each(Object.entries(shows))('%s shows what it promises', async (name, wanted) => {
  const { printed, code } = await runScript(`examples/${name}`, args[name])
  let rest = printed
  for (const each of wanted) {
    const next = after(rest, each)
    expect(next, `${each} does not come (any more) in:\n${printed}`).toBeDefined()
    rest = next ?? ''
  }
  expect(code, printed).toBe(0)
})

test('every example is run here and listed in the README of the examples', () => {
  const scripts = readdirSync('examples').filter((name) => name.endsWith('.mjs'))
  const listed = readFileSync('examples/README.md', 'utf8')
  expect(Object.keys(shows).toSorted()).toEqual(scripts.toSorted())
  expect(scripts.filter((name) => !listed.includes(`(${name})`))).toEqual([])
})
