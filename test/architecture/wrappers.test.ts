/** At most three wrappers are around a chart, and one function puts them there. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createMachine } from 'xstate'
import { reasoningOrchestrator } from '../../machines/index.ts'
import { withHost, withValues } from '../../machines/logic/runEnvironment.ts'
import { runMachineOf } from '../../machines/logic/runMachine.ts'
import { type AnyRunMachine, wrapLogic, wrappersOf } from '../../machines/logic/wrapLogic.ts'
import { createDecisionMachine } from '../../machines/orchestrators/decisionMachine.ts'
import { defaultOrchestrator, orchestratorParts } from '../../machines/orchestrators/orchestrator.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'

const parts = orchestratorParts({ model: scriptedModel([]) })
const lifecycle = parts.lifecycle()

const machines: Record<string, AnyRunMachine> = {
  agent: defaultOrchestrator.create(parts),
  phases: reasoningOrchestrator().create(parts),
  decision: createDecisionMachine({ run: lifecycle, typeOf: new Map() }),
  lifecycle,
}

it.each(Object.entries(machines))(
  'the machine of %s has three, also with values and a host',
  (_, machine) => {
    const three = ['chartLogic', 'storedCheck', 'supervise']
    expect(wrappersOf(machine)).toEqual(three)
    const equipped = withHost(withValues(machine, { context: 1 }), {})
    expect(wrappersOf(equipped)).toEqual(three)
    expect(wrappersOf(equipped.provide({}))).toEqual(three)
  },
)

it('the machine of a user’s chart has two: nothing is known of what it stores', () => {
  expect(wrappersOf(runMachineOf(createMachine({})))).toEqual(['chartLogic', 'supervise'])
})

it('counts a wrapper that is added', () => {
  expect(wrappersOf(wrapLogic('another', lifecycle, () => ({})))).toHaveLength(4)
})

it('wraps runs in two places, a policy in one, and composes in one', () => {
  const root = join(import.meta.dirname, '../..')
  const files = ['machines', 'src'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(folder, file)),
  )
  const calling = (call: RegExp) => files.filter((file) => call.test(readFileSync(join(root, file), 'utf8')))
  expect(calling(/\bwrapLogic\('/).toSorted()).toEqual([
    'machines/logic/supervise.ts',
    'machines/policy/policyLogic.ts',
    'machines/stored/version.ts',
  ])
  expect(calling(/\b(?:supervise|withStoredCheck|chartLogic)\((?!$)/).toSorted()).toEqual([
    'machines/logic/chartLogic.ts',
    'machines/logic/runMachine.ts',
  ])
})
