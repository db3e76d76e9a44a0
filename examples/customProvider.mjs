// A provider of your own: an unknown wire format, in one mapper and one decoder.
import { createServer } from 'node:http'
import { Agent, listProviders, registerProvider, textOf } from 'statewire'
import { defineProvider } from 'statewire/providers'

// The service: takes { "say": "…" } and answers line by line, {"word": "…"} and at last {"done": true}.
const server = createServer(async (request, response) => {
  let body = ''
  for await (const part of request) body += part
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  for (const word of JSON.parse(body).say.split(' ')) response.write(`${JSON.stringify({ word })}\n`)
  response.end(`${JSON.stringify({ done: true, words: JSON.parse(body).say.split(' ').length })}\n`)
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))

// The protocol: two pure functions and a reader of error bodies. HTTP, framing, retries and aborts are not its business.
const parrot = {
  name: 'parrot',
  request: ({ messages }, { model }) => ({
    path: '/say',
    body: { bird: model, say: textOf(messages.findLast(({ role }) => role === 'user')) },
  }),
  decoder: () => {
    let isDone = false
    let words = 0
    return {
      push({ data }) {
        const line = JSON.parse(data)
        if (!line.done) return [{ type: 'text', text: words++ === 0 ? line.word : ` ${line.word}` }]
        isDone = true
        return [
          { type: 'usage', usage: { outputTokens: line.words } },
          { type: 'finish', reason: 'stop' },
        ]
      },
      // A stream that ends without its last line was cut: without `finish` the engine takes it for truncated.
      end: () =>
        isDone ? [] : [{ type: 'error', error: { name: 'ModelError', message: 'The parrot flew away.' } }],
    }
  },
  error: (body) => (typeof body?.error === 'string' ? { message: body.error } : undefined),
}

registerProvider(
  'parrot',
  defineProvider({
    name: 'parrot',
    protocol: parrot,
    baseUrl: `http://127.0.0.1:${server.address().port}`,
    defaultModel: 'ara',
    // What its models can do. What they cannot is refused with a clear error, or done in another way.
    profile: () => ({
      tools: false,
      parallelTools: false,
      nativeSchema: false,
      schemaWithTools: false,
      thinking: false,
      attachments: { images: false, pdf: false, audio: false, links: false },
    }),
  }),
)

const { name, defaultModel, capabilities } = listProviders().find(({ name }) => name === 'parrot')
console.log(`registered: ${name}:${defaultModel} can ${capabilities.join(', ')}`)

const agent = new Agent('parrot')
for await (const chunk of agent.sendStream('Polly wants a statechart')) {
  if (chunk.output) console.log('chunk:', JSON.stringify(chunk.output))
  if (chunk.usage) console.log(chunk.finishReason, chunk.usage)
}
server.close()
server.closeAllConnections()
