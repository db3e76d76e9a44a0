import { expect, it } from 'vitest'
import { loopback } from '../loopback.ts'
import { askSimulator, statewire } from './spawned.ts'

const lines = (...turns: string[]) => turns.map((turn) => `${turn}\n`).join('')

it('takes the lines of a pipe as turns of one conversation', async () => {
  const input = lines(
    'My name is Ada',
    '',
    'What is my name?',
    '/clear',
    'What is my name?',
    '/exit',
    'Count to 9',
  )
  const { code, stdout, stderr } = await statewire(['chat', ...(await askSimulator())], { input })
  expect(stdout.split('\n')).toEqual([
    expect.stringContaining('fits “My name is Ada”.'),
    expect.stringContaining('Before that you said “My name is Ada”.'),
    expect.not.stringContaining('Ada'),
    '',
  ])
  expect(stderr).toContain('A new conversation begins.')
  expect(code).toBe(0)
})

it('switches tools and models without losing the conversation', async () => {
  const input = lines(
    'My name is Ada',
    'What is 2*3?',
    '/tools off',
    'What is 2*3?',
    '/model simulator',
    'What is my name?',
    '/modle',
  )
  const { stdout, stderr } = await statewire(['chat', ...(await askSimulator())], { input })
  expect(stdout.split('\n').slice(1)).toEqual([
    'Let me look that up.',
    '2*3 = 6. (Said by a simulator, from what the tools answered.)',
    expect.stringMatching(/none of them fits “What is 2\*3\?”\..* I have no tools here/),
    expect.stringContaining('Before that you said “My name is Ada”, “What is 2*3?”'),
    '',
  ])
  expect(stderr.split('\n')).toEqual([
    'Model: openai:simulator (--model)',
    '  · calculator(expression: 2*3)',
    'Tools are off.',
    'Model: the built-in simulator, which answers by rules (as you chose)',
    'There is no /modle. Did you mean /model?',
    '',
  ])
})

it('continues after an answer that failed, and ends with 1', async () => {
  const { url } = await loopback((_, nth) =>
    nth === 0
      ? { status: 400, body: { error: { message: 'Not today.' } } }
      : {
          body: 'data: {"choices":[{"delta":{"content":"Well."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
        },
  )
  const args = ['chat', '--model', 'openai:x', '--base-url', url]
  const { code, stdout, stderr } = await statewire(args, { input: lines('Hi', '/model nothing', 'Hi again') })
  expect(stdout).toBe('Well.\n')
  expect(stderr).toContain('statewire: Not today. (openai:x at ')
  expect(stderr).toContain('There is no provider "nothing"')
  expect(code).toBe(1)
})
