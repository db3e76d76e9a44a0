// The clients that run in browsers: the hook on an agent inside the page, the hook on a server, and AG-UI's client.
import { HttpAgent } from '@ag-ui/client'
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import { Agent, tool } from '../../../src/index.ts'
import { scriptedModel } from '../../../src/testing/scriptedModel.ts'
import { AgentChatTransport } from '../../../src/ui/index.ts'

const send = tool({ name: 'send', description: 'Sends', needsApproval: true, execute: () => 'sent' })
const model = scriptedModel([[{ text: 'I ask.' }, { toolCall: { id: 'c1', name: 'send' } }], 'Done.'])
const transports = {
  local: new AgentChatTransport({ agent: new Agent(model, { tools: [send] }) }),
  served: new DefaultChatTransport({ api: '/api/chat' }),
}

const Chat = ({ name }: { name: keyof typeof transports }) => {
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat({
    transport: transports[name],
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const parts = messages.at(-1)?.parts ?? []
  const asked = parts.find((part) => 'approval' in part && part.approval !== undefined)
  const id = asked && 'approval' in asked ? (asked.approval?.id ?? '') : ''
  return (
    <section id={name}>
      <button type="button" onClick={() => sendMessage({ text: 'Send it' })}>
        Ask
      </button>
      <button type="button" onClick={() => addToolApprovalResponse({ id, approved: true })}>
        Approve
      </button>
      <output>
        {status} {error?.message}{' '}
        {parts.map((part) => ('text' in part ? part.text : 'toolCallId' in part ? part.state : '')).join(' ')}
      </output>
    </section>
  )
}

const stored = new DefaultChatTransport({ api: '/api/stored' })

/** A chat in a store, in which a person may write on while an answer streams. */
const Typed = () => {
  const { messages, sendMessage } = useChat({ id: 'chat-1', transport: stored })
  const [text, setText] = useState('')
  return (
    <form
      id="typed"
      onSubmit={(event) => {
        event.preventDefault()
        void sendMessage({ text })
        setText('')
      }}
    >
      <input aria-label="Message" value={text} onChange={({ target }) => setText(target.value)} />
      <ol>
        {messages.map(({ id, parts }) => (
          <li key={id}>
            {parts
              .map((part) =>
                part.type === 'text' ? part.text : part.type === 'data-state' ? stateOf(part.data) : '',
              )
              .join('')}
          </li>
        ))}
      </ol>
    </form>
  )
}

const stateOf = (data: unknown): string => (Object(data).state === 'Queued' ? '(queued)' : '')

const root = document.getElementById('root')
if (root)
  createRoot(root).render(
    <>
      <Chat name="local" />
      <Chat name="served" />
      <Typed />
    </>,
  )

const speakAgui = async (): Promise<unknown> => {
  const agent = new HttpAgent({
    url: `${location.origin}/agui`,
    initialMessages: [{ id: 'u1', role: 'user', content: 'Send it' }],
  })
  await agent.runAgent()
  const resume = agent.pendingInterrupts.map(({ id }) => ({
    interruptId: id,
    status: 'resolved' as const,
    payload: { approved: true },
  }))
  await agent.runAgent({ resume })
  return [resume.length, ...agent.messages.map(({ content }) => content)]
}
Object.assign(window, { speakAgui })
