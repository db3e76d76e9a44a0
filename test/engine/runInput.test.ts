/** What an actor may be started with: every other input ends the run at once, with the reason. */
import { expect, test } from 'vitest'
import { createActor } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'

/** What a run comes to that is started with an input, and what its model was asked. */
const started = async (input: object | undefined) => {
  const model = scriptedModel(['Hi.'])
  const actor = createActor(new Agent(model).machine, { input: input as never })
  const output = await new Promise<ReturnType<typeof actor.getSnapshot>['output']>((resolve) => {
    actor.subscribe({ complete: () => resolve(actor.getSnapshot().output) })
    actor.start()
  })
  const error = output && 'error' in output ? output.error.message : undefined
  return { error, messages: model.requests[0]?.messages, request: model.requests[0] }
}

const text = (words: string) => ({ type: 'text', text: words })
const user = (...parts: unknown[]) => ({ role: 'user', parts })
const nothing = 'There is nothing to answer: give a prompt, or a history that ends with a user message.'
const holds = (what: string) => `The input is not usable: it holds ${what}.`

test.each([
  [undefined, nothing],
  [{}, nothing],
  [{ prompt: [] }, nothing],
  [{ prompt: [], attachments: [] }, nothing],
  [{ history: [] }, nothing],
  [{ history: [user(text('Go')), { role: 'model', parts: [text('Gone')] }] }, nothing],
  [{ prompt: 'Go', id: 7 }, holds('an id that is not a string')],
  [{ prompt: 'Go', system: 7 }, holds('a system prompt that is not a string')],
  [{ prompt: 'Go', settings: [] }, holds('settings that are not an object')],
  [{ prompt: 'Go', maxSteps: 0 }, holds('maxSteps of 0, which is not a whole number, 1 or more')],
  [{ prompt: 'Go', maxSteps: 1.5 }, holds('maxSteps of 1.5, which is not a whole number, 1 or more')],
  [{ prompt: 'Go', maxSteps: '3' }, holds('maxSteps of 3, which is not a whole number, 1 or more')],
  [{ prompt: 'Go', maxSteps: null }, holds('maxSteps of null, which is not a whole number, 1 or more')],
  [{ prompt: 'Go', limits: { steps: 'all' } }, holds('limits that are not amounts')],
  [{ prompt: 'Go', history: {} }, holds('a history that is not a list of messages')],
  [{ prompt: 7 }, holds('a prompt that is neither a string nor a list of parts')],
  [{ prompt: {} }, holds('a prompt that is neither a string nor a list of parts')],
  [{ prompt: 'Go', attachments: 'a file' }, holds('attachments that are not a list of parts')],
])('%j is refused', async (input, reason) => {
  const { error, request } = await started(input)
  expect(error).toBe(reason)
  expect(request).toBeUndefined()
})

test('a message that cannot be sent is named, and every other one', async () => {
  const orphan = { type: 'toolResult', id: 'z', name: 'free', result: 'ok' }
  const { error } = await started({ prompt: 'Go', history: [user(orphan), 7] })
  expect(error).toMatch(
    /^The history is not usable\. message 0: .* message 1: .* validateHistory\(\) lists all/,
  )
})

const picture = { type: 'link', url: 'https://example.com/cat.png', mimeType: 'image/png' }
const before = [user(text('One')), { role: 'model', parts: [text('Two')] }]

test.each([
  ['a text', { prompt: 'Go' }, [user(text('Go'))]],
  ['a list of parts', { prompt: [text('Go'), text('on')] }, [user(text('Go'), text('on'))]],
  ['a text and a picture', { prompt: 'Go', attachments: [picture] }, [user(text('Go'), picture)]],
  ['a picture', { attachments: [picture] }, [user(picture)]],
  ['a text after a history', { prompt: 'Go', history: before }, [...before, user(text('Go'))]],
  ['a history that asks', { history: [user(text('Go'))] }, [user(text('Go'))]],
])('the model is asked with %s', async (_, input, messages) => {
  expect((await started(input)).messages).toEqual(messages)
})

test('the run has its own copy of what it was given', async () => {
  const history = [...before, user(text('Go'))]
  const { messages } = await started({ history })
  expect(messages).toEqual(history)
  expect(messages?.[0]).not.toBe(history[0])
})

test('one step is enough for an answer, and the settings and the system prompt reach the model', async () => {
  const { error, request } = await started({
    prompt: 'Go',
    maxSteps: 1,
    system: 'Be brief.',
    settings: { temperature: 0 },
  })
  expect(error).toBeUndefined()
  expect(request).toEqual({
    temperature: 0,
    messages: [{ role: 'system', parts: [text('Be brief.')] }, user(text('Go'))],
  })
})
