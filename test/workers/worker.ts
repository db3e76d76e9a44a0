import { z } from 'zod'
import { Agent, StatewireError, tool } from '../../src/index.ts'

// A worker as users deploy it: an agent with a tool, whose answer streams to the client that asked.

const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 21 }),
})

export default {
  async fetch(request: Request): Promise<Response> {
    if (request.method !== 'POST') return new Response('Post a prompt.')
    const { baseUrl, prompt, isTyped } = (await request.json()) as Record<string, string>
    const agent = new Agent('openai:simulator', {
      baseUrl: String(baseUrl),
      apiKey: 'none',
      tools: [weather],
    })
    if (isTyped) return typed(agent, String(prompt))
    const answer = agent.sendStream(String(prompt), { signal: request.signal })
    const encoder = new TextEncoder()
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { value, done } = await answer.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`))
      },
    })
    return new Response(body)
  },
}

const typed = async (agent: Agent, prompt: string): Promise<Response> => {
  try {
    return Response.json(await agent.sendFor(prompt, z.object({ city: z.string(), country: z.string() })))
  } catch (error) {
    if (!(error instanceof StatewireError)) throw error
    return Response.json({ name: error.name, message: error.message }, { status: 500 })
  }
}
