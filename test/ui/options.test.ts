/** Wrong options are refused when the handler is made, and the guide lists the true defaults. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { handlerDefaults } from '../../src/ui/handlerOptions.ts'
import {
  aguiHandler,
  type Handler,
  nodeListener,
  openaiHandler,
  type Served,
  uiMessageHandler,
} from '../../src/ui/index.ts'

const agent = new Agent(scriptedModel([]))
const makers: Record<string, (options: object) => unknown> = {
  uiMessageHandler: (options) => uiMessageHandler(agent, options),
  aguiHandler: (options) => aguiHandler(agent, options),
  openaiHandler: (options) => openaiHandler({ agent }, options),
}

const wrong: Record<string, unknown[]> = {
  showError: ['no', {}],
  onError: ['no', {}],
  onFinish: [true, []],
  keepAliveMs: [0, -1, 1.5, Number.POSITIVE_INFINITY, Number.NaN, '15', 2 ** 31],
  maxBodyBytes: [0, -1, '1mb'],
  maxUnreadBytes: [0, Number.POSITIVE_INFINITY],
  authorize: [true, 'key'],
  context: [{}, 7],
}
const wrongForChats: Record<string, unknown[]> = {
  ...wrong,
  agent: [7, {}],
  client: ['ada', {}],
  maxWaiting: [0, 1.5],
  maxWaitMs: [0, '1d'],
}
const cases: [string, Record<string, unknown[]>][] = [
  ['uiMessageHandler', { ...wrongForChats, clientVersion: [4, 8, '7'] }],
  ['aguiHandler', wrongForChats],
  ['openaiHandler', { ...wrong, store: ['no', { get: 7 }] }],
]

describe.each(cases)('%s', (name, options) => {
  const make = (given: unknown) => () => makers[name]?.(given as object)

  test.each(Object.entries(options))('refuses a wrong %s, and names it', (option, values) => {
    for (const value of values) {
      expect(make({ [option]: value })).toThrow(ConfigurationError)
      expect(make({ [option]: value })).toThrow(option)
    }
    expect(make({ [option]: undefined })).not.toThrow()
  })

  test('refuses options that are not an object', () => {
    for (const value of [null, 7, 'fast', []]) expect(make(value)).toThrow(ConfigurationError)
  })
})

test('handlers need an agent, or runs with chats', () => {
  const useless = [undefined, null, {}, 'openai:gpt', { name: 'x', model: {} }, { start: () => {} }, [agent]]
  for (const each of useless) {
    expect(() => uiMessageHandler(each as Served)).toThrow(ConfigurationError)
    expect(() => aguiHandler(each as Served)).toThrow(ConfigurationError)
    expect(() => openaiHandler({ it: each as unknown as Agent })).toThrow('"it" is not an agent')
  }
  expect(() => nodeListener(agent as unknown as Handler)).toThrow(ConfigurationError)
  expect(() => openaiHandler(null as unknown as Record<string, Agent>)).toThrow(ConfigurationError)
})

test('the defaults in the guide are those of the code', () => {
  const guide = readFileSync('docs/ui.md', 'utf8')
  const { showError, maxBodyBytes, maxUnreadBytes, keepAliveMs } = handlerDefaults
  expect(guide).toContain(`| \`showError\` | \`'${showError(new Error('x'))}'\` |`)
  expect(guide).toContain(`| \`maxBodyBytes\` | ${maxBodyBytes / 2 ** 20} MiB |`)
  expect(guide).toContain(`| \`maxUnreadBytes\` | ${maxUnreadBytes / 2 ** 20} MiB |`)
  expect(guide).toContain(`| \`keepAliveMs\` | ${keepAliveMs.toLocaleString('en')} |`)
})
