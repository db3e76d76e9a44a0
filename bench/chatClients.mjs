// The pages of many chats, in a process of their own: asks all at once, and reports how much text each of them got.
import { once } from 'node:events'

const [{ url, count, prompt }] = await once(process, 'message')

const chat = async (id) => {
  const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: prompt }] }
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: `chat-${id}`, trigger: 'submit-message', messages: [message] }),
  })
  const events = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'))
  const deltas = events
    .map((line) => JSON.parse(line.slice('data: '.length)))
    .filter(({ type }) => type === 'text-delta')
  return deltas.map(({ delta }) => delta).join('')
}

const texts = await Promise.all(Array.from({ length: count }, (_, id) => chat(id)))
process.send(texts, () => process.exit())
