/** Runs at a limit ask; compactions and costs are shown. */
import { describe, expect, it } from 'vitest'
import { compactionLine } from '../../src/cli/progress.ts'
import { dollars } from '../../src/messages/dollars.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { ScriptTurn } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { chunk } from '../hostile/chatWire.ts'
import { sse } from '../hostile/wire.ts'
import { loopback } from '../loopback.ts'
import { askSimulator, folder, statewire } from './spawned.ts'
import { owning } from './storedRuns.ts'
import { ctrlD, hasScript, Terminal } from './Terminal.ts'

const question = /The run has used 1 of 1 steps\. Go on\? \[y\/N\] $/

describe.skipIf(!hasScript)('at a terminal, a run at a limit', () => {
  it('asks in chat, and follows the answer', async () => {
    const chat = new Terminal(['chat', '--max-steps', '1', ...(await askSimulator())])
    await chat.sees(/> $/)
    chat.types('What is 17 * 23?\r')
    await chat.sees(question)
    chat.types('y\r')
    await chat.sees(/391[\s\S]*> $/)
    chat.types('What is 18 * 23?\r')
    await chat.sees(question)
    chat.types('n\r')
    await chat.sees(/\n> $/)
    chat.types('What is 19 * 23?\r')
    await chat.sees(question)
    // To leave the question is to leave the answer, not the conversation.
    chat.types(ctrlD)
    await chat.sees(/\n> $/)
    chat.types('My name is Ada\r')
    await chat.sees(/fits “My name is Ada”\.[\s\S]*> $/)
    chat.types('/exit\r')
    expect(await chat.code).toBe(0)
  })

  it('asks in run, also with --approve: that is for tools alone', async () => {
    const args = ['run', '--approve', '--max-steps', '1', ...(await askSimulator()), 'What is 17 * 23?']
    const yes = new Terminal(args)
    await yes.sees(question)
    yes.types('y\r')
    await yes.sees(/391/)
    expect(await yes.code).toBe(0)
    const no = new Terminal(args)
    await no.sees(question)
    no.types('\r')
    expect(await no.code).toBe(0)
    expect(no.screen).not.toContain('= 391.')
  })

  it('asks again in chat --db after a kill', async () => {
    const cwd = await folder()
    const args = ['chat', '--max-steps', '1', ...(await askSimulator()), '--db', 'chats.db']
    const first = new Terminal(args, { cwd })
    await first.sees(/> $/)
    first.types('What is 17 * 23?\r')
    await first.sees(question)
    await first.kill()
    const second = new Terminal([...args, '--continue'], { cwd })
    await second.sees(question)
    second.types('y\r')
    await second.sees(/391[\s\S]*> $/)
    second.types('/exit\r')
    expect(await second.code).toBe(0)
  })
})

describe('without a terminal', () => {
  it('a run ends at its limit, and says so', async () => {
    const args = ['--max-steps', '1', '--approve', ...(await askSimulator())]
    const run = await statewire(['run', ...args, 'What is 17 * 23?'])
    expect([run.code, run.stdout]).toEqual([0, 'Let me look that up.\n'])
    expect(run.stderr).toContain('The run has used 1 of 1 steps. It ends here.')
    const chat = await statewire(['chat', ...args], { input: 'What is 17 * 23?\nMy name is Ada\n' })
    expect(chat.stderr).toContain('The run has used 1 of 1 steps. It ends here.')
    expect(chat.stdout).toContain('fits “My name is Ada”.')
  })

  it.each([
    ['--max-steps', 'whole number, 1 or more'],
    ['--max-cost', 'number'],
  ])('%s takes a %s', async (option, number) => {
    const { code, stderr } = await statewire(['run', option, 'many', 'Hello'])
    expect(code).toBe(2)
    expect(stderr).toContain(`"many" is not a limit: ${option} takes a ${number}.`)
  })
})

/** A server of OpenAI's kind that says what each answer cost; undefined is an answer that the request is too long. */
const server = async (...answers: (JsonObject | undefined)[]): Promise<string[]> => {
  const { url } = await loopback((_, nth) => {
    const delta = answers[nth]
    if (!delta)
      return { status: 400, body: { error: { code: 'context_length_exceeded', message: 'too long' } } }
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.0125 }
    const events = [chunk(delta), chunk({}, 'stop'), { id: 'a', choices: [], usage }]
    return { body: sse(...events, '[DONE]').join('') }
  })
  return ['--model', 'openai:some-model', '--base-url', url]
}

describe('what a run cost', () => {
  it('is shown beside its tokens', async () => {
    const model = await server({ content: 'Hello.' }, { content: 'Hello.' })
    const inspected = await statewire(['inspect', ...model, 'Hello'])
    expect(inspected.stdout).toContain('complete, 10 tokens in, 5 out, $0.0125')
    const run = await statewire(['run', '--verbose', ...model, 'Hello'])
    expect(run.stderr).toContain('10 tokens in, 5 out, $0.0125')
  })

  it('is a limit', async () => {
    const call = { index: 0, id: 'a', function: { name: 'calculator', arguments: '{"expression":"1+1"}' } }
    const model = await server({ tool_calls: [call] }, { content: 'never' })
    const { code, stdout, stderr } = await statewire(['run', '--max-cost', '0.01', ...model, 'Add'])
    expect([code, stdout]).toEqual([0, ''])
    expect(stderr).toContain('The run has cost $0.0125 of $0.01. It ends here.')
  })

  it.each([
    [0.000193, '$0.000193'],
    [0.5, '$0.50'],
    [12.345, '$12.35'],
    [0, '$0.00'],
  ])('is written so that cheap requests are not nothing: %d', (cost, text) => {
    expect(dollars(cost)).toBe(text)
  })
})

it('a compaction is one line in chat', async () => {
  const long = 'lorem ipsum '.repeat(300)
  const model = await server(
    { content: `${long}one` },
    { content: `${long}two` },
    undefined,
    { content: 'They talked.' },
    { content: 'Here I am.' },
  )
  const { stdout, stderr } = await statewire(['chat', ...model], { input: `${long}\n${long}\nGo on\n` })
  expect(stderr).toMatch(/^ {2}· Compacted, [\d,]+ to [\d,]+ tokens: older messages were summarised\.$/m)
  expect(stdout).toContain('Here I am.')
  expect(stdout).not.toContain('They talked.')
})

describe('runs of a file', () => {
  const look = tool({ name: 'look', description: 'Looks', execute: () => 'seen' })
  const looks: ScriptTurn = [
    { toolCall: { id: 'c1', name: 'look' } },
    { usage: { inputTokens: 100, outputTokens: 10 } },
  ]
  const runAtLimit = async (...turns: ScriptTurn[]) => {
    const limits = { cost: 0.01 }
    const owned = await owning([looks, ...turns], undefined, {
      tools: [look],
      limits,
      atLimit: 'ask',
      price: () => 0.0125,
    })
    const run = await owned.runs.start('janitor', 'Look', { id: 'job' })
    await run.result
    return { ...owned, run }
  }

  it('show the question, the cost, and what can be typed', async () => {
    const { cwd, run } = await runAtLimit('Done.')
    const { stdout } = await statewire(['runs', 'show', 'job'], { cwd })
    expect(stdout).toMatch(/^cost +\$0\.0125$/m)
    expect(stdout).toContain(
      'It waits for:\n  ? The run has cost $0.0125 of $0.01. Go on?\n' +
        '      statewire runs approve job limit\n      statewire runs reject job limit\n',
    )
    const approved = await statewire(['runs', 'approve', 'job'], { cwd })
    expect(approved.stdout).toBe('continues: The run has cost $0.0125 of $0.01.\n')
    expect((await run.result).answer).toBe('Done.')
  })

  it('end when the question is answered with no', async () => {
    const { cwd, run } = await runAtLimit('never')
    const streamed = await statewire(['runs', 'stream', 'job'], { cwd })
    expect(streamed.stderr).toContain('? The run has cost $0.0125 of $0.01. Go on?')
    const { stdout } = await statewire(['runs', 'reject', 'job'], { cwd })
    expect(stdout).toBe('ends: The run has cost $0.0125 of $0.01.\n')
    expect((await run.result).finishReason).toBe('limit')
  })

  it('show a compaction as one line', async () => {
    const history = [1, 2, 3, 4].map((at) => ({
      role: at % 2 === 1 ? ('user' as const) : ('model' as const),
      parts: [{ type: 'text' as const, text: 'lorem ipsum '.repeat(300) }],
    }))
    const overflow: ScriptTurn = [{ error: { message: 'long', code: 'context_overflow', retryable: false } }]
    const { cwd, runs } = await owning([overflow, 'They talked.', 'Done.'])
    const run = await runs.start('janitor', 'Go on.', { id: 'job', history })
    await run.result
    const { stdout } = await statewire(['runs', 'show', 'job'], { cwd })
    expect(stdout).toMatch(
      /> Go on\.\n\n {2}· Compacted, [\d,]+ to [\d,]+ tokens: older messages were summarised\.\n\nDone\./,
    )
    const streamed = await statewire(['runs', 'stream', 'job'], { cwd })
    expect(streamed.stderr).toMatch(/· Compacted, /)
    expect(streamed.stdout).toBe('Done.\n')
  })
})

it('cleared results are shown as such', () => {
  const numbers = { kept: 2, tokensBefore: 6360, tokensAfter: 1310, reason: 'full' } as const
  expect(compactionLine({ kind: 'cleared', ...numbers })).toBe(
    'Compacted, 6,360 to 1,310 tokens: old tool results were cleared.',
  )
})
