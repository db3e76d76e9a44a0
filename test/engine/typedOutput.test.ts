import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError, OutputValidationError, StatewireError } from '../../src/messages/errors.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { weather } from './sampleTools.ts'
import { endOf, rejection, watch } from './watching.ts'

const city = z.object({ name: z.string(), celsius: z.number() })
const oslo = { name: 'Oslo', celsius: 21 }
const call: ScriptTurn = [{ toolCall: { id: 'a', name: 'get_weather', arguments: { city: 'Oslo' } } }]

describe('19: typed output of a model with native schemas', () => {
  test('shows the model the schema and gives the validated value', async () => {
    const model = scriptedModel([[{ text: '{"name":"Os' }, { text: 'lo","celsius":21}' }]])
    const result = await new Agent(model).sendFor('Oslo', city)
    expect(result.output).toEqual(oslo)
    expect(model.requests[0]?.outputSchema).toEqual({
      type: 'object',
      properties: { name: { type: 'string' }, celsius: { type: 'number' } },
      required: ['name', 'celsius'],
      additionalProperties: false,
    })
  })

  test('streams chunks that join to the JSON, without a newline even after tools', async () => {
    const model = scriptedModel([call, [{ text: '{"name":"Oslo",' }, { text: '"celsius":21}' }]])
    const actor = new Agent(model, { tools: [weather] }).actor({
      prompt: 'Oslo',
      outputSchema: { type: 'object' },
    })
    const seen = watch(actor)
    actor.start()
    await endOf(actor)
    expect(seen.chunks.map(({ output }) => output).join('')).toBe(JSON.stringify(oslo))
  })

  test('gives what the schema makes of it: defaults and transforms', async () => {
    const schema = z.object({ n: z.string().transform(Number), unit: z.string().default('C') })
    const { output } = await new Agent(scriptedModel(['{"n":"21"}'])).sendFor('Oslo', schema)
    expect(output).toEqual({ n: 21, unit: 'C' })
  })

  test('validates a bare JSON Schema as well', async () => {
    const jsonSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    expect((await new Agent(scriptedModel(['{"n":1}'])).sendFor('x', { jsonSchema })).output).toEqual({
      n: 1,
    })
    const model = scriptedModel(['{"n":"x"}', '{"n":"x"}'])
    await rejection(new Agent(model).sendFor('x', { jsonSchema }), OutputValidationError)
  })

  test('works after tools, also when the model spoke before it called', async () => {
    const talking: ScriptTurn = [{ text: 'Let me look.' }, ...(typeof call === 'string' ? [] : call)]
    const model = scriptedModel([talking, JSON.stringify(oslo)])
    const { output } = await new Agent(model, { tools: [weather] }).sendFor('Oslo', city)
    expect(output).toEqual(oslo)
  })

  test.each([
    ['no JSON', 'It is 21 degrees.', /not valid JSON/],
    ['another shape', '{"name":5}', /does not fit the schema.*name/],
  ])('%s is an OutputValidationError with the raw text and the partial result', async (_, text, problem) => {
    const error = await rejection(
      new Agent(scriptedModel([text, text])).sendFor('Oslo', city),
      OutputValidationError,
    )
    expect(error.message).toMatch(problem)
    expect(error.rawOutput).toBe(text)
    expect(error.partial?.messages.at(-1)?.role).toBe('model')
  })

  test('a mismatch is fed back to the model once', async () => {
    const model = scriptedModel(['{"name":5}', JSON.stringify(oslo)])
    expect((await new Agent(model).sendFor('Oslo', city)).output).toEqual(oslo)
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('name')
    model.assertDone()
  })

  test('a check that throws is a typed error with the partial result, too', async () => {
    const check = z.object({
      n: z.number().transform((): number => {
        throw new RangeError('in transform')
      }),
    })
    const model = scriptedModel(['{"n":1}', '{"n":1}'])
    const error = await rejection(new Agent(model).sendFor('x', check), StatewireError)
    expect(error.message).toContain('in transform')
    expect(error.partial?.messages.at(-1)?.role).toBe('model')
  })

  test('a schema that cannot be shown to a model is refused before any request', async () => {
    const model = scriptedModel([])
    await rejection(new Agent(model).sendFor('x', z.object({ when: z.date() })), ConfigurationError)
    expect(model.requests).toEqual([])
  })
})
