// Components with an agent each, under StrictMode: what they render and what the models were asked is for the test to see.
import { StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { z } from 'zod'
import { Agent, textOf, tool } from '../../../src/index.ts'
import { useAgent } from '../../../src/react/index.ts'
import { type ScriptTurn, scriptedModel } from '../../../src/testing/scriptedModel.ts'
import type { ToolContext } from '../../../src/tools/tool.ts'

const renders: Record<string, number> = {}
const models = {
  first: scriptedModel(['Hello.', 'Again.']),
  stream: scriptedModel([[...Array.from({ length: 2_000 }, () => ({ text: 'x' }))]]),
  calls: scriptedModel([[{ text: 'I ask.' }, { toolCall: { id: 'c', name: 'send' } }], 'Sent for Ada.']),
  typed: scriptedModel(['{"city":"Oslo","founded":"1048"}']),
  gone: scriptedModel([[{ text: 'a' }, { hang: true }]]),
  pair: scriptedModel(['An answer.', 'An answer.']),
  one: scriptedModel(['From one.']),
  two: scriptedModel(['From two.']),
  failing: scriptedModel([[{ error: { message: 'No luck.' } }], 'Luck.'] satisfies ScriptTurn[]),
}
const send = tool({
  name: 'send',
  description: 'Sends',
  needsApproval: true,
  execute: (_, { context }: ToolContext<{ user: string }>) => `sent for ${context.user}`,
})
const agents = {
  first: new Agent(models.first),
  stream: new Agent(models.stream),
  calls: new Agent(models.calls, { tools: [send] }),
  typed: new Agent(models.typed),
  gone: new Agent(models.gone),
  pair: new Agent(models.pair),
  one: new Agent(models.one),
  two: new Agent(models.two),
  failing: new Agent(models.failing),
}

const count = (name: string) => {
  renders[name] = (renders[name] ?? 0) + 1
}

const First = () => {
  count('first')
  const { messages, status, send: ask } = useAgent(agents.first, { prompt: 'Hi' })
  return (
    <section id="first">
      <output>
        {status}: {messages.map(textOf).join(' | ')}
      </output>
      <button type="button" onClick={() => ask('And?')}>
        Ask
      </button>
    </section>
  )
}

let chunks = 0
const Stream = () => {
  count('stream')
  const {
    messages,
    text,
    status,
    send: ask,
  } = useAgent(agents.stream, {
    onChunk: () => {
      chunks += 1
    },
  })
  return (
    <section id="stream">
      <output>
        {status}: {(text || textOf(messages.at(-1) ?? { role: 'user', parts: [] })).length}
      </output>
      <button type="button" onClick={() => ask('Go')}>
        Ask
      </button>
    </section>
  )
}

const Calls = () => {
  const {
    messages,
    pending,
    status,
    send: ask,
    approve,
  } = useAgent(agents.calls, { context: { user: 'Ada' } })
  return (
    <section id="calls">
      <output>
        {status}: {pending.map(({ name }) => name).join()} {messages.map(textOf).join(' | ')}
      </output>
      <button type="button" onClick={() => ask('Send it')}>
        Ask
      </button>
      {pending.map(({ id }) => (
        <button type="button" key={id} onClick={() => approve(id)}>
          Approve
        </button>
      ))}
    </section>
  )
}

const city = z.object({
  city: z.string(),
  founded: z.string().transform((year) => new Date(`${year}-01-01`)),
})

const Typed = () => {
  const { output, status, send: ask } = useAgent(agents.typed, { schema: city })
  return (
    <section id="typed">
      <output>
        {status}: {output?.city} {output?.founded.getUTCFullYear()}
      </output>
      <button type="button" onClick={() => ask('Norway?')}>
        Ask
      </button>
    </section>
  )
}

const Endless = () => {
  const { text } = useAgent(agents.gone, { prompt: 'Go on' })
  return <output>{text}</output>
}

const Gone = () => {
  const [isShown, setShown] = useState(true)
  return (
    <section id="gone">
      {isShown && <Endless />}
      <button type="button" onClick={() => setShown(false)}>
        Leave
      </button>
    </section>
  )
}

const Failing = () => {
  const { error, status, output, send: ask } = useAgent(agents.failing)
  return (
    <section id="failing">
      <output>
        {status}: {error?.message} {output}
      </output>
      <button type="button" onClick={() => ask('Go')}>
        Ask
      </button>
    </section>
  )
}

const Half = ({ prompt }: { prompt: string }) => {
  const { messages } = useAgent(agents.pair, { prompt })
  return <p>{messages.map(textOf).join(' | ')}</p>
}

const Pair = () => (
  <section id="pair">
    <output>
      <Half prompt="Left?" />
      <Half prompt="Right?" />
    </output>
  </section>
)

const Changing = () => {
  const [isTwo, setTwo] = useState(false)
  const { messages, send: ask } = useAgent(isTwo ? agents.two : agents.one)
  return (
    <section id="changing">
      <output>{messages.map(textOf).join(' | ')}</output>
      <button type="button" onClick={() => ask('Go')}>
        Ask
      </button>
      <button type="button" onClick={() => setTwo(true)}>
        Change
      </button>
    </section>
  )
}

let frames = 0
const tick = () => {
  frames += 1
  requestAnimationFrame(tick)
}
tick()

const facts = () => ({
  renders,
  frames,
  chunks,
  requests: Object.fromEntries(Object.entries(models).map(([name, { requests }]) => [name, requests.length])),
  closed: models.gone.closed,
  changed: models.two.requests.at(-1)?.messages.map(textOf),
  history: models.first.requests.at(-1)?.messages.map(textOf),
})
Object.assign(window, { facts })

const root = document.getElementById('root')
if (root)
  createRoot(root).render(
    <StrictMode>
      <First />
      <Stream />
      <Calls />
      <Typed />
      <Gone />
      <Failing />
      <Pair />
      <Changing />
    </StrictMode>,
  )
