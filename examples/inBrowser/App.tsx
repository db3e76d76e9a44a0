// An agent in the browser: its statechart runs in the page, a component shows the snapshots as they come.
import { useActor } from '@xstate/react'
import { type FormEvent, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { Agent, type ChatMessage, textOf, tool } from 'statewire'
import { openai } from 'statewire/providers/openai'
import { z } from 'zod'

// The provider as a value: the page has no other one in it.
const agent = new Agent(openai('simulator'), {
  baseUrl: `${location.origin}/v1`,
  tools: [
    tool({
      name: 'get_weather',
      description: 'Current weather in a city',
      input: z.object({ city: z.string() }),
      execute: ({ city }) => ({ city, celsius: 21 }),
    }),
    tool({
      name: 'send_postcard',
      description: 'Send a postcard to a city',
      input: z.object({ city: z.string() }),
      needsApproval: true,
      execute: ({ city }) => `A postcard is on its way to ${city}.`,
    }),
  ],
})

type Question = { id: number; prompt: string; history: ChatMessage[] }

/** One run: one actor, from the first render on. */
const Answer = ({ prompt, history, onDone }: Question & { onDone: (history: ChatMessage[]) => void }) => {
  const [snapshot, send] = useActor(agent.machine, { input: { prompt, history } })
  const { context, output, value } = snapshot
  useEffect(() => {
    if (output) onDone([...history, ...output.messages])
  }, [output, history, onDone])

  const said = context.messages.filter(({ role }) => role === 'model').map(textOf)
  const text = snapshot.matches('Accumulating') ? [...said, context.answer.accumulated.text] : said
  const pending = context.history
    .flatMap(({ parts }) => parts)
    .filter((part) => part.type === 'toolCall')
    .filter(({ id }) => context.round.pendingApprovals.includes(id))
  return (
    <article>
      <strong>{prompt}</strong>
      <p>{text.filter(Boolean).join('\n')}</p>
      {pending.map(({ id, name, arguments: args }) => (
        <div className="pending" key={id}>
          {name} {JSON.stringify(args)}{' '}
          <button type="button" onClick={() => send({ type: 'tool.approve', callId: id })}>
            Approve
          </button>{' '}
          <button type="button" onClick={() => send({ type: 'tool.reject', callId: id, reason: 'No.' })}>
            Reject
          </button>
        </div>
      ))}
      <span className="state">
        {typeof value === 'string' ? value : Object.entries(value).flat().join('.')}
      </span>{' '}
      {snapshot.status === 'active' && (
        <button type="button" onClick={() => send({ type: 'abort', reason: 'the user pressed Stop' })}>
          Stop
        </button>
      )}
    </article>
  )
}

const App = () => {
  const [asked, setAsked] = useState<Question[]>([])
  const [history, setHistory] = useState<ChatMessage[]>([])
  const [prompt, setPrompt] = useState('What is the weather in Oslo? Send a postcard there, too.')
  const isBusy = asked.at(-1)?.history === history
  const ask = (event: FormEvent) => {
    event.preventDefault()
    setAsked([...asked, { id: asked.length, prompt, history }])
    setPrompt('')
  }
  return (
    <main>
      <h1>An agent in the browser</h1>
      {asked.map((question) => (
        <Answer key={question.id} {...question} onDone={setHistory} />
      ))}
      <form onSubmit={ask}>
        <input value={prompt} onChange={({ target }) => setPrompt(target.value)} aria-label="Prompt" />
        <button type="submit" disabled={isBusy || prompt === ''}>
          Ask
        </button>
      </form>
    </main>
  )
}

const root = document.getElementById('root')
if (root) createRoot(root).render(<App />)
