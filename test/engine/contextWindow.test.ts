/** What the answers and the refusals of a provider show about the room for a conversation. */
import { describe, expect, test } from 'vitest'
import {
  type AgentMachineConfig,
  type ResolvedConfig,
  resolveConfig,
} from '../../machines/agent/agentConfig.ts'
import { initialState } from '../../machines/agent/runInput.ts'
import { type StreamingState, unknownWindow, type Window } from '../../machines/agent/streamingState.ts'
import { learned, measured } from '../../machines/compaction/contextWindow.ts'
import { requestCharacters, sizeOf } from '../../machines/compaction/requestSize.ts'
import { userMessage } from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'

const configOf = (compaction?: AgentMachineConfig['compaction']): ResolvedConfig =>
  resolveConfig({ model: scriptedModel([]), ...(compaction !== undefined && { compaction }) })

/** A run whose request has 10,000 characters. */
const stateOf = (config: ResolvedConfig, window: Partial<Window>): StreamingState => {
  const noTools = '[]'.length
  const prompt = 'x'.repeat(10_000 - noTools - sizeOf(userMessage('')))
  const state = { ...initialState({ prompt }, 0, config), window: { ...unknownWindow, ...window } }
  expect(requestCharacters(config, state)).toBe(10_000)
  return state
}

describe('an answer that counts its input', () => {
  const unasked = undefined
  const ahead = {}

  test.each<[string, AgentMachineConfig['compaction'], Partial<Window>, number, Partial<Window>]>([
    ['of a small request is not looked at', unasked, {}, 4000, {}],
    ['of a larger one is the measure', unasked, {}, 4001, { input: 4001, ratio: 0.4001 }],
    ['is the measure where a window is known', unasked, { tokens: 9000 }, 2000, { input: 2000, ratio: 0.2 }],
    ['is the measure where room is watched', ahead, {}, 2000, { input: 2000, ratio: 0.2 }],
    ['is not looked at where it says nothing', ahead, {}, 0, {}],
    ['is not looked at where compaction is off', false, {}, 4000, {}],
    ['is not believed when it is tiny', ahead, {}, 1, { input: 1, ratio: 0.05 }],
    ['is not believed when it is huge', ahead, {}, 900_000, { input: 900_000, ratio: 2 }],
    [
      'shows a cut when it is fewer than before',
      ahead,
      { input: 3000 },
      2999,
      { tokens: 2999, due: 'overflow' },
    ],
    ['shows no cut when it is as many', ahead, { input: 3000 }, 3000, { input: 3000, ratio: 0.3 }],
    ['shows no cut where room is not watched', unasked, { input: 6000 }, 5000, { input: 5000, ratio: 0.5 }],
    ['narrows a window', ahead, { input: 3000, tokens: 2800 }, 2500, { tokens: 2500, due: 'overflow' }],
    ['widens no window', ahead, { input: 3000, tokens: 2000 }, 2500, { tokens: 2000, due: 'overflow' }],
  ])('%s', (_, compaction, window, inputTokens, change) => {
    const config = configOf(compaction)
    const state = stateOf(config, window)
    const { answer } = state
    const answered = { ...answer, accumulated: { ...answer.accumulated, usage: { inputTokens } } }
    expect(measured(config, { ...state, answer: answered })).toEqual({ ...state.window, ...change })
  })

  test('changes nothing where there is no count', () => {
    const state = stateOf(configOf({}), { input: 3000 })
    expect(measured(configOf({}), state)).toBe(state.window)
  })
})

describe('a refusal', () => {
  type Said = { window?: number; requested?: number }

  test.each<[string, Partial<Window>, Said, Partial<Window>]>([
    ['without numbers shows that the request does not fit', {}, {}, { tokens: 2500 }],
    ['may name the window', {}, { window: 2000 }, { tokens: 2000 }],
    ['may name a window that is too large', {}, { window: 9000 }, { tokens: 2500 }],
    ['may count the request', {}, { requested: 5000 }, { tokens: 5000, ratio: 0.5 }],
    ['may count in a way that is not believed', {}, { requested: 90_000 }, { tokens: 20_000, ratio: 2 }],
    ['may do both', {}, { window: 4000, requested: 5000 }, { tokens: 4000, ratio: 0.5 }],
    ['is read in our measure', { ratio: 0.25 }, { window: 4000, requested: 5000 }, { tokens: 2000 }],
    ['may count less than the window', { ratio: 0.25 }, { window: 4000, requested: 3000 }, { tokens: 2500 }],
    ['may count just the window', { ratio: 0.25 }, { window: 2000, requested: 2000 }, { tokens: 2000 }],
    ['gives whole tokens', { ratio: 0.25 }, { window: 1000, requested: 3000 }, { tokens: 833 }],
    ['leaves room for one token at least', {}, { window: 0 }, { tokens: 1 }],
    ['does not widen a window', { tokens: 1000 }, {}, { tokens: 1000 }],
    ['narrows a window', { tokens: 3000 }, {}, { tokens: 2500 }],
  ])('%s', (_, window, said, change) => {
    const config = configOf()
    const state = stateOf(config, window)
    const failure = { name: 'ModelError' as const, message: 'too long', code: 'context_overflow', ...said }
    expect(learned(config, { ...state, failure })).toEqual({ ...state.window, ...change, due: 'overflow' })
  })
})
