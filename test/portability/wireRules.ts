import { expect } from 'vitest'
import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import { list, object, string, type WireItem, wireItems } from '../recordings/wireItems.ts'

// What each API demands of a request and answers 400 to otherwise.

/** The ids a provider takes for a tool call; Gemini 2 takes none at all. */
const idRules: Record<string, RegExp> = {
  'openai-chat': /^[\s\S]{1,40}$/,
  'openai-responses': /^[\s\S]{1,64}$/,
  anthropic: /^[a-zA-Z0-9_-]+$/,
  mistral: /^[a-zA-Z0-9]{9}$/,
  cohere: /^[\s\S]+$/,
  ollama: /^[\s\S]+$/,
  google: /^[\s\S]*$/,
}

/** Every call is answered right after the turn that made it, by one result under the same id. */
const expectPairs = (items: readonly WireItem[], protocol: string, idRule: RegExp): void => {
  const open: string[] = []
  items.forEach((item, place) => {
    if (item.kind === 'call') {
      expect(item.id).toMatch(idRule)
      expect(open).not.toContain(protocol === 'google' ? undefined : item.id)
      open.push(item.id)
    } else if (item.kind === 'result') {
      expect(open.shift()).toBe(item.id)
    } else {
      // Text of the same turn may come between its calls, nothing else may.
      if (item.kind !== 'model' || items[place - 1]?.kind !== 'call') expect(open).toEqual([])
    }
  })
  expect(open).toEqual([])
}

const expectAlternating = (roles: readonly (JsonValue | undefined)[]): void => {
  roles.forEach((role, place) => {
    expect(role).not.toBe(roles[place - 1])
  })
}

const chatRules = (body: JsonObject): void => {
  const messages = list(body.messages)
  expect(messages[0]).toMatchObject({ role: 'system' })
  // A text, or a list of one that is marked for the cache.
  expect(JSON.stringify(messages[0]?.content)).toMatch(/^("|\[\{"type":"text","text":")Be brief\."/)
  for (const { role, content, tool_calls } of messages) {
    expect(['system', 'user', 'assistant', 'tool']).toContain(role)
    if (role !== 'assistant') expect(content).not.toBe('')
    if (role === 'assistant') expect(content || tool_calls).toBeTruthy()
  }
}

const rules: Record<string, (body: JsonObject) => void> = {
  'openai-chat': chatRules,
  ollama(body) {
    chatRules(body)
    const names = wireItems('ollama', body).flatMap((item) => (item.kind === 'call' ? [item.name] : []))
    for (const { role, tool_name } of list(body.messages))
      if (role === 'tool') expect(names).toContain(tool_name)
  },
  cohere(body) {
    chatRules(body)
    for (const { role, content, tool_calls } of list(body.messages))
      if (role === 'assistant' && !tool_calls) expect(content).toBeTruthy()
  },
  mistral(body) {
    chatRules(body)
    const roles = list(body.messages).map(({ role }) => role)
    // Mistral refuses a user right after a tool, and an assistant right after an assistant.
    roles.forEach((role, place) => {
      if (roles[place - 1] === 'tool') expect(role).not.toBe('user')
      if (role === 'assistant') expect(roles[place - 1]).not.toBe('assistant')
    })
  },
  anthropic(body) {
    const messages = list(body.messages)
    expectAlternating(messages.map(({ role }) => role))
    // A summary of what came before takes its place.
    const isSummary = list(messages[0]?.content)[0]?.type === 'compaction'
    expect(messages[0]?.role).toBe(isSummary ? 'assistant' : 'user')
    expect(messages.at(-1)?.role).toBe('user')
    const ids = messages.flatMap(({ content }) => list(content).map(({ id }) => id)).filter(Boolean)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { content } of messages) {
      const types = list(content).map(({ type }) => type)
      expect(types.length).toBeGreaterThan(0)
      // Results open the message that answers the calls.
      expect(types.lastIndexOf('tool_result')).toBeLessThan(
        types.indexOf('text') < 0 ? 99 : types.indexOf('text'),
      )
      for (const block of list(content))
        if (block.type === 'text') expect(string(block.text).trim()).not.toBe('')
    }
  },
  google(body) {
    const contents = list(body.contents)
    expect(contents[0]?.role).toBe('user')
    for (const { role, parts } of contents) {
      expect(['user', 'model']).toContain(role)
      expect(list(parts).length).toBeGreaterThan(0)
      for (const part of list(parts))
        if (part.functionResponse) object(object(part.functionResponse).response)
    }
    contents.forEach(({ parts }, place) => {
      const calls = list(parts).filter(({ functionCall }) => functionCall)
      const next = list(contents[place + 1]?.parts)
      if (calls.length > 0) expect(next.filter((part) => part.functionResponse)).toHaveLength(calls.length)
    })
  },
  'openai-responses'(body) {
    expect(body.instructions).toBe('Be brief.')
    const ids = wireItems('openai-responses', body).flatMap((item) => (item.kind === 'call' ? [item.id] : []))
    expect(new Set(ids).size).toBe(ids.length)
  },
}

/** Checks that a provider would take this request: its own rules, and calls with their results. */
export const expectAcceptable = (
  protocol: string,
  body: JsonObject,
  idRule: RegExp = idRules[protocol] ?? /^$/,
): void => {
  const items = wireItems(protocol, body)
  rules[protocol]?.(body)
  expectPairs(items, protocol, idRule)
  expect(items.filter(({ kind }) => kind === 'call').length).toBeGreaterThan(0)
}

/** Checks any history of the provider's own, with calls or without. */
export const expectContinuable = (protocol: string, body: JsonObject): void => {
  rules[protocol]?.(body)
  // What the server keeps is not sent again: its part of the pairs cannot be seen.
  if (typeof body.previous_response_id !== 'string')
    expectPairs(wireItems(protocol, body), protocol, /^[\s\S]*$/)
}
