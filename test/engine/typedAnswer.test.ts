/** What is read from an answer that should be JSON. */
import { describe, expect, test } from 'vitest'
import { compileSchema } from '../../src/tools/schema.ts'
import { readAnswer, wireSchemaOf } from '../../src/tools/typedAnswer.ts'

const schemaOf = (jsonSchema: object) => wireSchemaOf(compileSchema({ jsonSchema } as never, 'The schema'))
const object = schemaOf({ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] })
const list = schemaOf({ type: 'array', items: { type: 'integer' } })

const fits = (json: string, asked = json) => ({ json, asked, problem: '', value: JSON.parse(json) })
const misread = (problem: unknown) => ({ json: '', asked: '', problem })

describe('an answer', () => {
  test.each([
    ['{"n":4}', fits('{"n":4}')],
    [' {"n": 4}\n', fits('{"n":4}')],
    ['```json\n{"n":4}\n```', fits('{"n":4}')],
    ['```JSON  \n{\n "n": 4\n}```', fits('{"n":4}')],
    ['```\n\n{"n":4}\n\n```\n', fits('{"n":4}')],
    ['', misread('The answer is empty.')],
    [' \n', misread('The answer is empty.')],
    ['```\n\n```', misread('The answer is empty.')],
    ['four', misread(expect.stringMatching(/^The answer is not valid JSON \(.+\)\.$/))],
    ['So: ```json\n{"n":4}\n```', misread(expect.stringMatching(/^The answer is not valid JSON/))],
    ['```json {"n":4}```', misread(expect.stringMatching(/^The answer is not valid JSON/))],
    ['['.repeat(600), misread('The answer nests deeper than 256 levels.')],
    ['{"n":"four"}', misread(expect.stringMatching(/^n: /))],
    ['{"value":{"n":4}}', misread(expect.stringMatching(/^value: .*"n"/))],
  ])('%j', async (answer, read) => {
    expect(await readAnswer(answer, object)).toEqual(read)
  })

  test.each([
    ['{"value":[1,2]}', fits('[1,2]', '{"value":[1,2]}')],
    ['[1,2]', fits('[1,2]', '{"value":[1,2]}')],
    ['{"value":["a"]}', misread(expect.stringMatching(/^0: /))],
    ['{"values":[1]}', misread(expect.stringMatching(/^value: /))],
  ])('%j, where a list is wanted', async (answer, read) => {
    expect(await readAnswer(answer, list)).toEqual(read)
  })
})

describe('the schema that a provider gets', () => {
  test('is as it was for an object, and the value of one for all else', () => {
    expect(object).toMatchObject({ isWrapped: false, jsonSchema: { type: 'object', required: ['n'] } })
    expect(list).toMatchObject({
      isWrapped: true,
      jsonSchema: {
        type: 'object',
        properties: { value: { type: 'array', items: { type: 'integer' } } },
        required: ['value'],
        additionalProperties: false,
      },
    })
    expect(Object.keys(list.jsonSchema)).not.toContain('$defs')
  })

  test.each(['anyOf', 'oneOf', 'allOf'])('is wrapped where an object has %s', (word) => {
    expect(schemaOf({ type: 'object', [word]: [{ type: 'object' }] }).isWrapped).toBe(true)
  })

  test('keeps its definitions at the root', () => {
    const { jsonSchema } = schemaOf({ $ref: '#/$defs/node', $defs: { node: { type: 'object' } } })
    expect(Object.keys(jsonSchema)).toContain('$defs')
  })
})

test('what does not fit is named by its place, from the inside', async () => {
  const { validate } = compileSchema(
    {
      jsonSchema: {
        type: 'object',
        properties: {
          people: { type: 'array', items: { type: 'object', properties: { age: { type: 'integer' } } } },
        },
      },
    },
    'The schema',
  )
  const result = await validate({ people: [{ age: 4 }, { age: 'old' }] })
  expect(result).toMatchObject({ ok: false, problem: expect.stringMatching(/^people\/1\/age: [^;]*$/) })
  expect(await validate('unknown')).toMatchObject({ ok: false, problem: expect.stringMatching(/^value: /) })
})
