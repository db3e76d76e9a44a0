import { expect, test } from 'vitest'
import type { AgentInput } from '../../machines/index.ts'
import { firstQuestion, initialPhases } from '../../machines/orchestrators/phasedRun.ts'
import { modelMessage, type Part, textPart, userMessage } from '../../src/messages/messages.ts'

const image: Part = { type: 'link', url: 'https://example.com/a.png' }
const task = textPart('\n\nThink.')
const answered = [userMessage('Hello.'), modelMessage('Hi.')]
const asked = [...answered, userMessage('Warm?')]

test.each<[string, AgentInput, AgentInput]>([
  ['a text', { prompt: 'Warm?' }, { history: [], prompt: [textPart('Warm?'), task] }],
  ['an empty text', { prompt: '' }, { history: [], prompt: [textPart(''), task] }],
  ['parts', { prompt: [image] }, { history: [], prompt: [image, task] }],
  [
    'attachments',
    { prompt: 'A', attachments: [image] },
    { history: [], prompt: [textPart('A'), image, task] },
  ],
  ['attachments alone', { attachments: [image] }, { history: [], prompt: [image, task] }],
  ['a history', { prompt: 'A', history: answered }, { history: answered, prompt: [textPart('A'), task] }],
  ['the end of the history', { history: asked }, { history: asked, prompt: 'Think.' }],
  ['nothing, in no history', {}, { history: [] }],
  ['nothing, after an answer', { history: answered }, { history: answered }],
  ['no parts', { prompt: [], history: asked }, { history: asked, prompt: 'Think.' }],
])('the first task is below the question: %s', (_, input, question) => {
  expect(firstQuestion(initialPhases(input), 'Think.')).toEqual(question)
})

test.each([5, null, { text: 'Warm?' }])(
  'a prompt that is not one is left to the run to refuse: %o',
  (prompt) => {
    const input = { prompt, history: answered } as unknown as AgentInput
    expect(firstQuestion(initialPhases(input), 'Think.')).toEqual(input)
  },
)
