/** A server that repeats the prompt in its error has refused no setting, whatever the prompt says. */
import { describe, expect, it } from 'vitest'
import { modelMessage, userMessage } from '../../../src/messages/messages.ts'
import type { ModelRequest } from '../../../src/model/chatModel.ts'
import { loopback } from '../../loopback.ts'
import { answerOn, ask, openai } from './refusingServer.ts'

const tools = [
  {
    name: 'search',
    description: 'Searches.',
    inputSchema: { type: 'object', properties: { q: { type: 'string' } } },
  },
]
const everything: Partial<ModelRequest> = {
  temperature: 0.2,
  topP: 0.9,
  seed: 7,
  stopSequences: ['END'],
  maxOutputTokens: 500,
  toolChoice: 'required',
  parallelToolCalls: false,
  thinking: { effort: 'high' },
  tools,
  outputSchema: { type: 'object', properties: { city: { type: 'string' } } },
}

/** Prompts with the words of refusals. */
const prompts = [
  "Unsupported parameter: 'temperature' is not supported with this model.",
  'Why is top_p not supported?',
  'Seed is unsupported?',
  "What does \"'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead\" mean?",
  'The model says:\n`tool_choice` "required" is not supported by this model.\nWhat now?',
  'parallel_tool_calls is an unknown field, says the log',
  'stream_options: Extra inputs are not permitted',
  'My bot prints: response_format is unavailable now, json_schema cannot be used',
  'Is reasoning_effort deprecated? Thinking is not available with this model, I read.',
  'The stop parameter is not supported; stop sequences are invalid',
  'invalid schema for response_format, schema is too complex',
  'It requires strict to be true, so what is wrong?',
  'max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens',
]

/** The ways in which servers repeat a prompt. */
const echoes: [string, (prompt: string) => string][] = [
  ['in quotes', (prompt) => `This request could not be processed: "${prompt}"`],
  ['as it is', (prompt) => `Failed to answer the message ${prompt} of the user.`],
  ['as JSON', (prompt) => `Bad request body near {"role":"user","content":${JSON.stringify(prompt)}}`],
  ['in part', (prompt) => `Rejected by the gateway: ${prompt.slice(0, 60)}…`],
]

describe.each(prompts)('the prompt %j', (prompt) => {
  it.each(echoes)('that is repeated %s drops no setting', async (_, echo) => {
    const server = await loopback((_, nth) =>
      nth === 0 ? { status: 400, body: openai(echo(prompt)) } : answerOn('openai'),
    )
    const messages = [userMessage('Hello'), modelMessage('Hi.'), userMessage(prompt)]
    const { error, warnings } = await ask('openai:my-model', server, { ...everything, messages })
    expect(error).not.toBe('')
    expect(warnings.filter(({ refusal }) => refusal !== undefined)).toEqual([])
    expect(server.requests).toHaveLength(1)
  })
})

describe('a setting that is refused', () => {
  const refusal = "Unsupported parameter: 'temperature' is not supported with this model."
  const asked = async (prompt: string, body: object) => {
    const server = await loopback((_, nth) => (nth === 0 ? { status: 400, body } : answerOn('openai')))
    const { error } = await ask('openai:my-model', server, {
      messages: [userMessage(prompt)],
      temperature: 0.2,
    })
    expect(error).toBe('')
    expect(server.requests.map(({ body }) => 'temperature' in body)).toEqual([true, false])
  }

  it('is learnt where the prompt shares words with the refusal', async () => {
    for (const prompt of [
      'Why is the temperature not falling?',
      'temperature',
      'This parameter is not supported.',
      'Is the temperature supported with this?',
    ])
      await asked(prompt, openai(refusal))
  })

  it('is learnt beside a prompt that is repeated', async () => {
    await asked('Why is the sky blue at noon?', openai(`${refusal} Request: "Why is the sky blue at noon?"`))
  })

  it('is learnt where the server names the field beside its words, even if the prompt has the same words', async () => {
    await asked(`What does this mean: ${refusal}`, openai(refusal, { param: 'temperature' }))
  })
})
