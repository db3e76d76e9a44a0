import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Agent } from '../../src/agent/Agent.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { LazySignal } from '../../src/tools/lazySignal.ts'
import { type ToolContext, tool } from '../../src/tools/tool.ts'

describe('a lazy signal', () => {
  test('is aborted whether it was looked at before or after', () => {
    const before = new LazySignal()
    const { signal } = before
    expect(signal.aborted).toBe(false)
    before.abort('why')
    expect(before.signal).toBe(signal)
    expect(signal.reason).toBe('why')
    const after = new LazySignal()
    after.abort('why')
    expect(after.signal.reason).toBe('why')
    expect([before.isAborted, after.isAborted]).toEqual([true, true])
  })

  test('calls back once, and not those who took it back', () => {
    const lazy = new LazySignal()
    const stays = vi.fn()
    const leaves = vi.fn()
    lazy.onAbort(stays)
    lazy.onAbort(leaves)()
    lazy.abort()
    lazy.abort()
    expect(stays).toHaveBeenCalledTimes(1)
    expect(leaves).not.toHaveBeenCalled()
  })

  test('is made for tools that look at it alone', async () => {
    let made = 0
    const Counted = class extends AbortController {
      constructor() {
        super()
        made += 1
      }
    }
    vi.stubGlobal('AbortController', Counted)
    onTestFinished(() => void vi.unstubAllGlobals())
    const run = (execute: (args: unknown, context: ToolContext) => unknown) => {
      const model = scriptedModel([[{ toolCall: { id: 'a', name: 'look' } }], 'ok'])
      return new Agent(model, { tools: [tool({ name: 'look', description: '', execute })] }).send('Go')
    }
    await run(() => 'no')
    expect(made).toBe(0)
    const seen: AbortSignal[] = []
    await run((_, { signal }) => seen.push(signal))
    expect(made).toBe(1)
    expect(seen[0]?.aborted).toBe(false)
  })
})
