import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { JsonObject } from '../../src/messages/json.ts'
import { loopback } from '../loopback.ts'
import { askSimulator, ended, folder, seen, start, statewire } from './spawned.ts'

const wellSaid =
  'data: {"choices":[{"delta":{"content":"Well."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

const eventsIn = (stdout: string): JsonObject[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

it('writes the answer to stdout, and nothing else; the model it took goes to stderr', async () => {
  const { code, stdout, stderr } = await statewire(['run', ...(await askSimulator()), 'What is 6*7?'])
  expect(stdout).toBe(
    'Let me look that up.\n6*7 = 42. (Said by a simulator, from what the tools answered.)\n',
  )
  expect(stderr).toBe('Model: openai:simulator (--model)\n')
  expect(code).toBe(0)
})

it('answers with the built-in simulator when there is neither a key nor an Ollama, and says so', async () => {
  const { code, stdout, stderr } = await statewire(['run', 'Count to 3'])
  expect(stdout).toBe('1 2 3\n')
  expect(stderr).toBe(
    'Model: the built-in simulator, which answers by rules (no key is set, no Ollama answers)\n',
  )
  expect(code).toBe(0)
})

it('shows states and calls on stderr with --verbose', async () => {
  const { stdout, stderr } = await statewire(['run', '-v', ...(await askSimulator()), 'What is 6*7?'])
  expect(stdout).not.toContain('·')
  const lines = stderr.split('\n').map((line) => line.trim())
  expect(lines.slice(1, 8)).toEqual([
    '· MessageReset',
    '· Accumulating.Requesting',
    '· Accumulating.Streaming',
    '· Consolidating',
    '· ToolCheck',
    '· ToolExecution.Working',
    '· calculator(expression: 6*7)',
  ])
  expect(lines).toContain('· calculator → 6*7 = 42')
  expect(lines.at(-3)).toBe('· Complete')
  expect(lines.at(-2)).toMatch(/^· \d+ tokens in, \d+ out$/)
})

it('writes every event as a line of JSON, in order, and one end', async () => {
  const { code, stdout } = await statewire(['run', '--json', ...(await askSimulator()), 'What is 6*7?'])
  const events = eventsIn(stdout)
  const order = events.map(({ type }) => type).filter((type) => type !== 'chunk' && type !== 'tool.delta')
  expect(order).toEqual([
    'message',
    'step',
    'message',
    'tool.call',
    'tool.result',
    'message',
    'step',
    'message',
    'end',
  ])
  const text = events.flatMap(({ type, output }) => (type === 'chunk' ? [output] : [])).join('')
  const end = events.at(-1)
  expect(end).toMatchObject({ type: 'end', status: 'complete', finishReason: 'stop', output: text })
  expect(end).toHaveProperty('usage.inputTokens')
  expect(code).toBe(0)
})

it('reads the prompt from stdin when there is none, or a dash', async () => {
  const model = await askSimulator()
  const [piped, dashed] = await Promise.all([
    statewire(['run', ...model], { input: 'Count to 2\n' }),
    statewire(['run', ...model, '-'], { input: 'Count to 4\n' }),
  ])
  expect([piped.stdout, dashed.stdout]).toEqual(['1 2\n', '1 2 3 4\n'])
})

it('puts what is piped in below the prompt, and waits for it with a dash', async () => {
  const asked: string[] = []
  const { url } = await loopback(({ body }) => {
    asked.push(JSON.stringify(body.messages))
    return { body: wellSaid }
  })
  const model = ['--no-tools', '--model', 'openai:x', '--base-url', url]
  const both = await statewire(['run', ...model, 'Summarise', 'this:'], { input: 'one\n\n\n  two\n' })
  expect([both.code, both.stdout]).toEqual([0, 'Well.\n'])
  const slow = start(['run', ...model, 'Summarise', '-'])
  const end = ended(slow)
  // Longer than a pipe without a dash is waited for.
  await pause(3500)
  slow.stdin.end('at last')
  expect((await end).stdout).toBe('Well.\n')
  expect(asked.map((messages) => JSON.parse(messages).at(-1).content)).toEqual([
    'Summarise this:\n\none\n\n\n  two',
    'Summarise\n\nat last',
  ])
})

it('goes on without a pipe that stays open and empty, and says so', async () => {
  const child = start(['run', ...(await askSimulator()), 'Count to 3'])
  const { code, stdout, stderr } = await ended(child)
  expect([code, stdout]).toEqual([0, '1 2 3\n'])
  expect(stderr).toContain('Nothing came from stdin within 3 s')
})

it('ends with 2 when the prompt is empty, the provider unknown or the key missing', async () => {
  const [empty, unknown, keyless] = await Promise.all([
    statewire(['run'], { input: ' \n' }),
    statewire(['run', '--model', 'opnai', 'Hi']),
    statewire(['run', '--model', 'openai', 'Hi']),
  ])
  expect([empty.code, unknown.code, keyless.code]).toEqual([2, 2, 2])
  expect(empty.stderr).toContain('The prompt is empty.')
  expect(unknown.stderr).toContain('There is no provider "opnai". Did you mean "openai')
  expect(keyless.stderr).toContain(
    'set the environment variable OPENAI_API_KEY, or choose another model with --model.\n',
  )
})

it('ends with 1 when the provider refuses, says what to do, and never shows the key', async () => {
  const key = 'sk-test-0123456789abcdefghij'
  const { url } = await loopback(({ body }) => ({
    status: body.model === 'gpt-0' ? 404 : 401,
    body: { error: { message: `No ${body.model} for ${key}`, code: 'refused' } },
  }))
  const env = { OPENAI_API_KEY: key }
  const [refused, unknown] = await Promise.all([
    statewire(['run', '--base-url', url, '--model', 'openai:gpt-1', '--verbose', 'Hi'], { env }),
    statewire(['run', '--base-url', url, '--model', 'openai:gpt-0', '--json', 'Hi'], { env }),
  ])
  expect([refused.code, unknown.code]).toEqual([1, 1])
  expect(refused.stderr).toContain('No key was sent: set STATEWIRE_API_KEY. OPENAI_API_KEY only goes to')
  expect(unknown.stderr).toMatch(
    /: No gpt-0 for \*\*\* \(openai:gpt-0 at .*, HTTP 404\. Is \/v1 missing from --base-url\?\)\nTo list the models of openai: statewire models openai/,
  )
  expect(eventsIn(unknown.stdout).at(-1)).toMatchObject({
    type: 'end',
    status: 'failed',
    error: { status: 404 },
  })
  for (const { stdout, stderr } of [refused, unknown]) expect(stdout + stderr).not.toContain(key)
})

it('aborts on Ctrl-C: keeps what was said, ends with 130', async () => {
  const child = start(['run', '--json', ...(await askSimulator(100)), 'Count to 500'], { input: '' })
  const end = ended(child)
  await seen(child.stdout, /"output":"3 "/)
  child.kill('SIGINT')
  const { code, stdout, stderr } = await end
  expect(eventsIn(stdout).at(-1)).toMatchObject({
    type: 'end',
    status: 'aborted',
    output: expect.stringMatching(/^1 2 3 /),
  })
  expect(stderr).toContain('aborted')
  expect(code).toBe(130)
})

it('ends quietly when the reader of its output leaves', async () => {
  const child = start(['run', ...(await askSimulator(5)), 'Count to 500'], { input: '' })
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  const end = once(child, 'close')
  await seen(child.stdout, /3/)
  child.stdout.destroy()
  const [code] = await end
  expect(code).toBe(0)
  expect(stderr).toBe('Model: openai:simulator (--model)\n')
})

it('colours nothing in a pipe, unless FORCE_COLOR says so', async () => {
  const args = ['run', '--verbose', ...(await askSimulator()), 'Count to 2']
  const [plain, forced, refused] = await Promise.all([
    statewire(args),
    statewire(args, { env: { FORCE_COLOR: '1' } }),
    statewire(args, { env: { NO_COLOR: '1' } }),
  ])
  expect(plain.stderr + refused.stderr).not.toContain('\u001b')
  expect(forced.stderr).toContain('\u001b[2m')
})

it('reads a file only with --approve without a terminal', async () => {
  const cwd = await folder()
  await writeFile(join(cwd, 'poem.txt'), 'A statechart is a rose.')
  const args = ['run', ...(await askSimulator()), 'Read poem.txt']
  const [asked, approved] = await Promise.all([
    statewire(args, { cwd }),
    statewire([...args, '--approve'], { cwd }),
  ])
  expect(asked.stdout).toContain(
    'read_file did not work: A person rejected this call: There is no terminal to ask for approval',
  )
  expect(approved.stdout).toContain('A statechart is a rose.')
  const without = await statewire([...args, '--approve', '--no-tools'], { cwd })
  expect(without.stdout).toContain('I have no tools here')
})
