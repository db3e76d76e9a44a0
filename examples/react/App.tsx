// A chat that survives a reload: what is being answered is read again, what waits for an approval still waits.
import { useChat } from '@ai-sdk/react'
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from 'ai'
import { type FormEvent, useState } from 'react'
import { createRoot } from 'react-dom/client'
import './app.css'

const api = '/api/chat'

type Message = UIMessage<{ usage?: { totalTokens?: number } }, { state: { state: string } }>
type Part = Message['parts'][number]
type Decide = (decision: { id: string; approved: boolean; reason?: string }) => void

const PartView = ({ part, decide }: { part: Part; decide: Decide }) => {
  if (part.type === 'text') return <p>{part.text}</p>
  if (part.type === 'reasoning') return <p className="thinking">{part.text}</p>
  if (!('toolCallId' in part)) return null
  const { id = '' } = part.state === 'approval-requested' ? part.approval : {}
  return (
    <div className={`call ${part.state}`}>
      <code>
        {part.type.replace('tool-', '')} {JSON.stringify(part.input)}
      </code>
      {part.state === 'output-available' && <code>→ {JSON.stringify(part.output)}</code>}
      {part.state === 'output-error' && <code>→ {part.errorText}</code>}
      {part.state === 'output-denied' && <code>→ denied</code>}
      {part.state === 'approval-requested' && (
        <span>
          <button type="button" onClick={() => decide({ id, approved: true })}>
            Approve
          </button>
          <button type="button" onClick={() => decide({ id, approved: false, reason: 'The user said no.' })}>
            Deny
          </button>
        </span>
      )}
    </div>
  )
}

const MessageView = ({ message, decide }: { message: Message; decide: Decide }) => {
  const state = message.parts.find((part) => part.type === 'data-state')?.data.state
  return (
    <article className={message.role}>
      {message.parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts are only ever added at the end.
        <PartView key={`${message.id} ${index}`} part={part} decide={decide} />
      ))}
      {state && <span className="state">{state}</span>}
      {message.metadata?.usage && <span className="usage">{message.metadata.usage.totalTokens} tokens</span>}
    </article>
  )
}

const App = ({ id, first }: { id: string; first: Message[] }) => {
  const chat = useChat<Message>({
    id,
    messages: first,
    resume: true,
    transport: new DefaultChatTransport({ api }),
    sendAutomaticallyWhen: (now) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(now) ||
      lastAssistantMessageIsCompleteWithToolCalls(now),
    onToolCall: ({ toolCall }) => {
      if (toolCall.toolName !== 'get_time_zone') return
      const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
      // Not awaited: the answer that asks is still being read.
      void chat.addToolOutput({
        tool: 'get_time_zone',
        toolCallId: toolCall.toolCallId,
        output: { timeZone },
      })
    },
  })
  const [prompt, setPrompt] = useState('What is the weather in Oslo? Send a postcard there, too.')
  const isBusy = chat.status === 'submitted' || chat.status === 'streaming'

  const ask = (event: FormEvent) => {
    event.preventDefault()
    void chat.sendMessage({ text: prompt })
    setPrompt('')
  }
  // The run goes on without its reader: to end it is a request of its own.
  const stop = async () => {
    await fetch(`${api}/${id}/stream`, { method: 'DELETE' })
    await chat.stop()
  }

  return (
    <main>
      <h1>A chat</h1>
      {chat.messages.map((message) => (
        <MessageView key={message.id} message={message} decide={chat.addToolApprovalResponse} />
      ))}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form onSubmit={ask}>
        <input value={prompt} onChange={({ target }) => setPrompt(target.value)} aria-label="Prompt" />
        {isBusy ? (
          <button type="button" onClick={stop}>
            Stop
          </button>
        ) : (
          <button type="submit" disabled={prompt === ''}>
            Ask
          </button>
        )}
        <button type="button" disabled={isBusy || chat.messages.length < 2} onClick={() => chat.regenerate()}>
          Again
        </button>
      </form>
    </main>
  )
}

// The chat is in the address: a reload shows it again.
const id = location.hash.slice(1) || crypto.randomUUID()
location.hash = id
const first: Message[] = await (await fetch(`${api}/${id}/messages`)).json()
const root = document.getElementById('root')
if (root) createRoot(root).render(<App id={id} first={first} />)
