/**
 * The rules of each API, written down a second time and without a look at how schemas are written for it: from its
 * documentation, the types of its SDK, and what its servers answered to people.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/messages/json.ts'

type Place = { schema: JsonObject; path: string; depth: number }

/** Every schema in a schema, with its place. */
const placesIn = (root: JsonObject): Place[] => {
  const places: Place[] = []
  const visit = (value: JsonValue | undefined, path: string, depth: number): void => {
    if (!isJsonObject(value)) return
    places.push({ schema: value, path, depth })
    const { properties, $defs, items, additionalProperties, anyOf, prefixItems } = value
    for (const [key, group] of Object.entries({ properties, $defs })) {
      for (const [name, each] of Object.entries(isJsonObject(group) ? group : {})) {
        visit(each, `${path}/${key}/${name}`, key === '$defs' ? 0 : depth + 1)
      }
    }
    visit(items, `${path}/items`, depth + 1)
    visit(additionalProperties, `${path}/additionalProperties`, depth + 1)
    for (const [key, list] of Object.entries({ anyOf, prefixItems })) {
      for (const [n, each] of (Array.isArray(list) ? list : []).entries())
        visit(each, `${path}/${key}/${n}`, depth + 1)
    }
  }
  visit(root, '#', 0)
  return places
}

const has = (schema: JsonObject, key: string) => Object.hasOwn(schema, key)
const typesOf = ({ type }: JsonObject): JsonValue[] => (type === undefined ? [] : [type].flat())
const namesOf = ({ properties }: JsonObject): string[] =>
  isJsonObject(properties) ? Object.keys(properties) : []
const requiredOf = ({ required }: JsonObject): JsonValue[] => (Array.isArray(required) ? required : [])

const shape = ['type', 'description', 'properties', 'required', 'items', 'anyOf', 'enum']
const formatsOf = (...formats: string[]) => formats

type Rules = {
  keywords: string[]
  formats: string[] | 'any'
  check?: (place: Place, root: JsonObject) => string | false | undefined
}

/** The rules of all APIs: one object at the root, nothing unknown, references that lead somewhere and are alone. */
const violations = (root: JsonObject, { keywords, formats, check }: Rules): string[] => {
  const known = new Set([...shape, ...keywords])
  const found: string[] = []
  if (root.type !== 'object') found.push('# is not of type object')
  if (!isJsonObject(root.properties)) found.push('# has no properties')
  for (const key of ['anyOf', 'oneOf', 'allOf', 'enum', 'const', 'not', '$ref']) {
    if (has(root, key)) found.push(`# has ${key}`)
  }
  for (const place of placesIn(root)) {
    const { schema, path } = place
    for (const key of Object.keys(schema)) if (!known.has(key)) found.push(`${path} has ${key}`)
    if (typeof schema.format === 'string' && formats !== 'any' && !formats.includes(schema.format)) {
      found.push(`${path} has format ${schema.format}`)
    }
    if (has(schema, '$ref')) {
      const name = String(schema.$ref).replace(/^#\/\$defs\//, '')
      if (!isJsonObject(root.$defs) || !has(root.$defs, name)) found.push(`${path} refers to nothing`)
      if (Object.keys(schema).length > 1) found.push(`${path} has something beside $ref`)
    }
    const missing = requiredOf(schema).filter((name) => !namesOf(schema).includes(String(name)))
    if (missing.length > 0) found.push(`${path} requires ${missing}, which it does not have`)
    const problem = check?.(place, root)
    if (problem) found.push(`${path} ${problem}`)
  }
  return found
}

const lookaround = /\(\?(?:=|!|<=|<!)/
const isTyped = (schema: JsonObject) =>
  ['type', '$ref', 'anyOf', 'enum', 'const'].some((key) => has(schema, key))
const isOpen = (schema: JsonObject) =>
  typesOf(schema).includes('object') && schema.additionalProperties !== false

/** Responses, Chat Completions and Mistral. */
export const openaiViolations = (root: JsonObject, isStrict: boolean): string[] => [
  ...violations(root, {
    keywords: [
      ...['$defs', '$ref', 'const', 'title', 'additionalProperties', 'pattern', 'format', 'multipleOf'],
      ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems'],
    ],
    formats: formatsOf('date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'),
    check: ({ schema, depth }) => {
      if (typesOf(schema).includes('array') && !has(schema, 'items')) return 'is a list of nothing'
      if (lookaround.test(String(schema.pattern))) return 'looks around'
      if (!isStrict) return false
      if (!isTyped(schema)) return 'has no type'
      if (isOpen(schema)) return 'is open'
      if (typesOf(schema).includes('object') && !Array.isArray(schema.required))
        return 'does not say what it requires'
      if (namesOf(schema).some((name) => !requiredOf(schema).includes(name))) return 'has optional members'
      return depth > 10 && 'nests too deeply'
    },
  }),
  ...(isStrict && placesIn(root).flatMap(({ schema }) => namesOf(schema)).length > 5000
    ? ['has too many']
    : []),
]

/** llama.cpp, vLLM, Groq, Fireworks and the like: what none of them has answered an error to. */
export const compatibleViolations = (root: JsonObject): string[] =>
  violations(root, {
    keywords: ['$defs', '$ref', 'const', 'title', 'default', 'additionalProperties', 'format'],
    formats: formatsOf('date-time', 'date', 'time', 'uuid'),
    check: ({ schema }) =>
      typesOf(schema).includes('array') && !has(schema, 'items') && 'is a list of nothing',
  })

export const anthropicToolViolations = (root: JsonObject): string[] =>
  violations(root, {
    keywords: [
      ...[
        '$defs',
        '$ref',
        'const',
        'title',
        'default',
        'examples',
        'additionalProperties',
        'pattern',
        'format',
      ],
      ...[
        'minimum',
        'maximum',
        'exclusiveMinimum',
        'exclusiveMaximum',
        'multipleOf',
        'minLength',
        'maxLength',
      ],
      ...['minItems', 'maxItems', 'uniqueItems', 'prefixItems', 'minProperties', 'maxProperties'],
    ],
    formats: 'any',
    check: ({ schema }) =>
      namesOf(schema).some((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) &&
      'has a member with a strange name',
  })

export const anthropicAnswerViolations = (root: JsonObject): string[] => {
  const places = placesIn(root)
  const optional = places.flatMap(({ schema }) =>
    namesOf(schema).filter((name) => !requiredOf(schema).includes(name)),
  )
  const unions = places.filter(({ schema }) => has(schema, 'anyOf') || typesOf(schema).length > 1)
  return [
    ...violations(root, {
      keywords: ['$defs', '$ref', 'const', 'title', 'additionalProperties', 'format', 'minItems'],
      formats: formatsOf(
        ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
      ),
      check: ({ schema }) => {
        if (!isTyped(schema)) return 'has no type'
        if (isOpen(schema)) return 'is open'
        if (has(schema, 'minItems') && ![0, 1].includes(Number(schema.minItems))) return 'has a length'
        return (
          [schema.enum ?? []].flat().some((value) => value instanceof Object) && 'lists more than scalars'
        )
      },
    }),
    ...(optional.length > 24 ? ['has more than 24 optional members'] : []),
    ...(unions.length > 16 ? ['has more than 16 unions'] : []),
    ...(reachesItself(root) ? ['is recursive'] : []),
  ]
}

const reachesItself = ({ $defs }: JsonObject): boolean => {
  const definitions = isJsonObject($defs) ? $defs : {}
  const reached = (name: string, seen: Set<string>): Set<string> => {
    for (const [, next = ''] of JSON.stringify(definitions[name]).matchAll(/"\$ref":"#\/\$defs\/([^"]+)"/g)) {
      if (!seen.has(next)) reached(next, seen.add(next))
    }
    return seen
  }
  return Object.keys(definitions).some((name) => reached(name, new Set()).has(name))
}

export const geminiViolations = (root: JsonObject): string[] =>
  violations(root, {
    keywords: [
      ...[
        'title',
        'format',
        'prefixItems',
        'minItems',
        'maxItems',
        'minimum',
        'maximum',
        'additionalProperties',
      ],
    ],
    formats: formatsOf('date-time', 'date', 'time', 'int32', 'int64', 'float', 'double'),
    check: ({ schema }) => {
      const beside = Object.keys(schema).filter((key) => !['anyOf', 'description', 'title'].includes(key))
      if (has(schema, 'anyOf') && beside.length > 0) return `has ${beside} beside anyOf`
      const values = Array.isArray(schema.enum) ? schema.enum : []
      return (
        values.some((value) => !['string', 'number'].includes(typeof value)) && 'lists more than Gemini knows'
      )
    },
  })

/** The keywords that Ollama's server reads into its structs: anything else it drops, so that the model would never see it. */
export const ollamaToolViolations = (root: JsonObject): string[] => [
  ...violations(root, { keywords: [], formats: [] }),
  ...(has(root, 'description') ? ['# has a description, which is dropped'] : []),
]

export const cohereViolations = (root: JsonObject, isAnswer: boolean): string[] =>
  violations(root, {
    keywords: ['$defs', '$ref', 'const', 'title', 'default', 'additionalProperties', 'format', 'pattern'],
    formats: formatsOf('date-time', 'uuid', 'date', 'time'),
    check: ({ schema }) => {
      if (/[\^$]|\?=|\?!/.test(String(schema.pattern ?? ''))) return 'has anchors'
      return isAnswer && namesOf(schema).length > 0 && requiredOf(schema).length === 0 && 'requires nothing'
    },
  })
