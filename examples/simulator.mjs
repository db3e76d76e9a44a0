// A stand-in for a provider, on loopback: speaks the OpenAI chat wire, with answers made by rules instead of a model.
import { createServer } from 'node:http'

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** What the "model" says next: a call of the first tool that fits the question, or an answer made of the results. */
const reply = ({ messages, tools = [] }) => {
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
  if (results.length > 0)
    return { text: `Here is what the tools say: ${results.join(' and ')}. (I am a simulator.)` }
  const question = String(messages.findLast(({ role }) => role === 'user')?.content ?? '').toLowerCase()
  const calls = tools
    .map(({ function: { name, parameters } }) => ({ name, parameters }))
    .filter(({ name }) => name.split('_').some((word) => word.length > 3 && question.includes(word)))
    .map(({ name, parameters }) => ({ name, arguments: fill(parameters, question) }))
  if (calls.length > 0) return { text: 'Let me look that up. ', calls }
  return { text: 'I am a simulator and know only a few rules: ask for something one of my tools can do.' }
}

/** Arguments for a tool: a text is the place that the question names, a number the middle of the range it names. */
const fill = (parameters, question) => {
  const place = /\bin ([a-z]+)/.exec(question)?.[1] ?? 'Oslo'
  const text = place[0].toUpperCase() + place.slice(1)
  const [, low = 0, high = 0] = /between (\d+) and (\d+)/.exec(question) ?? []
  const middle = Math.floor((Number(low) + Number(high)) / 2)
  const suited = ({ type }) => (type === 'integer' || type === 'number' ? middle : text)
  return Object.fromEntries(
    Object.entries(parameters?.properties ?? {}).map(([key, schema]) => [key, suited(schema)]),
  )
}

const chunksOf = ({ text, calls = [] }) => [
  ...text.split(/(?<= )/).map((piece) => ({ delta: { content: piece } })),
  ...calls.map((call, index) => ({
    delta: {
      tool_calls: [
        {
          index,
          id: `call_${Date.now()}_${index}`,
          type: 'function',
          function: { name: call.name, arguments: JSON.stringify(call.arguments) },
        },
      ],
    },
  })),
  { delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' },
]

const answer = async (body, response) => {
  const chunks = chunksOf(reply(body))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (data) => response.write(`data: ${JSON.stringify({ id: 'sim_1', ...data })}\n\n`)
  for (const choice of chunks) {
    send({ choices: [{ index: 0, ...choice }] })
    await pause(15)
  }
  send({
    choices: [],
    usage: { prompt_tokens: JSON.stringify(body).length >> 2, completion_tokens: chunks.length },
  })
  response.end('data: [DONE]\n\n')
}

/** Starts the simulator; `baseUrl` goes to an `openai` agent. */
export const startSimulator = async () => {
  const server = createServer(async (request, response) => {
    const parts = []
    for await (const part of request) parts.push(part)
    await answer(JSON.parse(Buffer.concat(parts).toString()), response)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  return { baseUrl: `http://127.0.0.1:${server.address().port}/v1`, close }
}
