/** Whatever users plug in may throw, reject, or give nonsense: their process goes on, with a typed error or an answer. */
import { beforeAll, expect, test } from 'vitest'
import { buildScripts } from '../buildScripts.ts'
import { runProgram } from '../runScript.ts'

let script = ''

beforeAll(async () => {
  ;({ crashScenes: script } = await buildScripts('crashes', { crashScenes: 'test/api/crashScenes.ts' }))
}, 180_000)

const expected: Record<string, RegExp> = {
  fallbackFromUnsent: /^complete "done"/,
  refinementOfInput: /^complete "done"/,
  refinementOfApproval: /^complete "done"/,
  refinementOfRule: /^waits/,
  refinementOfOutput: /^OrchestrationError: .*the refinement broke/,
  refinementOfReturned: /^O\w+Error: /,
  refinementOfStream: /^OrchestrationError: .*the refinement broke/,
  throwingListener: /complete "done"/,
  rejectingListener: /complete "done"/,
  throwingInspector: /complete "hi"/,
  throwingOnStart: /^Error: broken/,
  rejectingOnStart: /^complete "hi"/,
  orchestratorWithoutOutput: /^OrchestrationError: .*ended without an AgentOutput/,
  orchestratorWithText: /^OrchestrationError: .*ended without an AgentOutput/,
  orchestratorWithNull: /^OrchestrationError: .*ended without an AgentOutput/,
  orchestratorWithWrongMessages: /^OrchestrationError: .*ended without an AgentOutput/,
  orchestratorOfNothing: /^OrchestrationError: .*did not return actor logic/,
  orchestratorThatThrows: /^OrchestrationError: .*broken/,
  orchestratorWithThrowingGuard: /^OrchestrationError: .*\nbroken/,
  endAfterFail: /^complete "second"/,
  modelThatThrows: /^ModelError: .*broken/,
  modelThatRejects: /^ModelError: .*rejected/,
  modelThatThrowsAtClose: /^AbortedError: /,
  approvalThatThrows: /^complete "done"/,
  approvalThatRejects: /^complete "done"/,
  approvalThatChangesItsCall: /^complete "done" \[{"n":1}\]/,
  stepThatThrows: /^OrchestrationError: prepareStep failed: .*broken/,
  stepThatRejects: /^OrchestrationError: prepareStep failed: .*rejected/,
  stepOfText: /^OrchestrationError: prepareStep failed: .*must return an object/,
  stepOfWrongTools: /^OrchestrationError: prepareStep failed: /,
  stepOfNoList: /^OrchestrationError: prepareStep failed: .*must be a list/,
  stepOfWrongModel: /^OrchestrationError: prepareStep failed: .*model/,
  stepOfUnknownModel: /^OrchestrationError: prepareStep failed: .*unknown/,
  stepOfWrongSystem: /^OrchestrationError: prepareStep failed: .*system/,
  stepOfWrongSettings: /^OrchestrationError: prepareStep failed: .*settings/,
  stepThatNeverSettles: /^AbortedError: The run was aborted: too long/,
  unreadResult: /^ModelError: no/,
}

test('every scene is expected to end somehow', async () => {
  const { printed, code } = await runProgram(process.execPath, [script])
  expect(code).toBe(0)
  expect(JSON.parse(printed)).toEqual(Object.keys(expected))
})

test.each(Object.entries(expected))('%s', async (scene, ending) => {
  const { printed, code } = await runProgram(process.execPath, [script, scene])
  expect({ code, printed }).toEqual({ code: 0, printed: expect.stringMatching(ending) })
})
