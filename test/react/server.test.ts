/** `useAgent` on a server, where pages are rendered once. */
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { modelMessage, textOf, userMessage } from '../../src/messages/messages.ts'
import { useAgent } from '../../src/react/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'

const model = scriptedModel(['never asked'])
const agent = new Agent(model)
const history = [userMessage('Hi'), modelMessage('Hello.')]

const Chat = () => {
  const { messages, status } = useAgent(agent, { prompt: 'And?', history })
  return createElement('p', null, `${status}: ${messages.map(textOf).join(' | ')}`)
}

test('renders the conversation that it begins with, and asks nothing', async () => {
  expect(renderToString(createElement(Chat))).toBe('<p>idle: Hi | Hello.</p>')
  await new Promise((resolve) => setTimeout(resolve))
  expect(model.requests).toHaveLength(0)
})
