import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { AnyStateNode } from 'xstate'
import { resolveConfig } from '../../machines/agent/agentConfig.ts'
import { createChart } from '../../machines/agent/chart.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { defaultLimits } from '../../src/transport/limits.ts'

const read = (page: string): string => readFileSync(page, 'utf8').replace(/\s+/g, ' ')
const model = scriptedModel([])
const { retry, limits, atLimit, firstChunkMs, idleMs, totalMs, toolExecution } = resolveConfig({ model })

test('the defaults in the table of options are those of the code', () => {
  const page = readFileSync('docs/api/agent.md', 'utf8')
  const defaultOf = (option: string): string | undefined => {
    const row = page.split('\n').find((line) => line.startsWith(`| \`${option}\` |`))
    return row?.split(/(?<!\\)\|/)[3]?.trim()
  }
  const minutes = (ms: number) => `${ms / 60_000} min`
  const { maxRetries, initialDelayMs, maxDelayMs } = retry
  expect(totalMs).toBeUndefined()
  expect(defaultOf('timeouts')).toBe(`${minutes(firstChunkMs)}, ${minutes(idleMs)}, none`)
  expect(defaultOf('retry')).toBe(`${maxRetries} retries, ${initialDelayMs} ms, ${maxDelayMs / 1000} s`)
  expect(defaultOf('maxSteps')).toBe(String(limits.steps))
  expect(defaultOf('limits')).toBe(`${limits.steps} steps`)
  expect(defaultOf('atLimit')).toBe(`\`'${atLimit}'\``)
  expect(defaultOf('toolExecution')).toBe(`\`'${toolExecution}'\``)
})

test('the limits in the guides are those of the code', () => {
  const { maxEventSize, maxResponseSize, maxDocumentSize, maxErrorBodySize } = defaultLimits
  const guide = read('docs/providers.md')
  expect(guide).toContain(`| \`maxEventSize\` | ${maxEventSize / 2 ** 20} Mi characters |`)
  expect(guide).toContain(`| \`maxResponseSize\` | ${maxResponseSize / 2 ** 20} MiB |`)
  expect(guide).toContain(`| \`maxDocumentSize\` | ${maxDocumentSize / 2 ** 20} MiB |`)
  expect(guide).toContain(`| \`maxErrorBodySize\` | ${maxErrorBodySize / 2 ** 10} KiB |`)
  const { timeoutMs, maxResult } = tool({ name: 'x', description: 'x', execute: () => 'x' })
  expect(read('docs/tools.md')).toContain(`| \`timeoutMs\` | ${timeoutMs / 60_000} minutes |`)
  const longest = maxResult.toLocaleString('en-US')
  expect(read('docs/tools.md')).toContain(`| \`maxResult\` | ${longest} |`)
  expect(read('docs/long-runs.md')).toContain(`longer than ${longest} characters`)
  expect(read('docs/long-runs.md')).toContain(`| \`steps\` | model calls; ${limits.steps} by default.`)
})

test('the table of states has every state of the chart, and no other', () => {
  const page = readFileSync('docs/actors-and-snapshots.md', 'utf8')
  const table = page.slice(page.indexOf('## States'), page.indexOf('## Events'))
  const named = [...table.matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name)
  const below = ({ states }: AnyStateNode): string[] =>
    Object.values(states).flatMap((state) => [state.key, ...below(state)])
  const all = new Set(below(createChart({ model }).root))
  expect([...new Set(named)].toSorted()).toEqual([...all].toSorted())
})
