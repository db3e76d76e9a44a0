import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import type { AnyActorLogic } from 'xstate'
import { createActor } from 'xstate'
import { Agent, reasoningOrchestrator, tool } from '../../src/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'

// A separate process, started by approvalProcess.test.ts: `ask` waits for approvals until it is killed, `resume` is
// given the decisions and continues from what the other one stored.

const [mode = '', kind = '', folder = '', decisions = '{}'] = process.argv.slice(2)
const pendingFile = `${folder}/pending.json`

const wipe = tool({
  name: 'wipe',
  description: 'Wipes a disk',
  needsApproval: true,
  execute: (_, { callId }) => {
    appendFileSync(`${folder}/ran.log`, `${callId}\n`)
    return `wiped ${callId}`
  },
})

const calls: ScriptTurn = ['a', 'b', 'c'].map((id) => ({ toolCall: { id, name: 'wipe' } }))
const before: ScriptTurn[] = kind === 'reasoning' ? ['The analysis.', 'The hypothesis.'] : []
const after: ScriptTurn[] = kind === 'reasoning' ? ['The evidence.', 'Done.'] : ['Done.']
const model = scriptedModel(mode === 'ask' ? [...before, calls] : after)
const agent: Agent = new Agent<unknown, AnyActorLogic>(model, {
  tools: [wipe],
  ...(kind === 'reasoning' && { orchestrator: reasoningOrchestrator() }),
})

const store = (pending: unknown) => {
  writeFileSync(pendingFile, JSON.stringify(pending))
  console.log('stored')
}
const stored = () => JSON.parse(readFileSync(pendingFile, 'utf8'))

const ask = async () => {
  // Nothing of the run keeps a process alive while it waits.
  setInterval(() => {}, 1000)
  if (kind !== 'actor') return store((await agent.send('Tidy up.')).pendingApproval)
  const actor = agent.actor({ prompt: 'Tidy up.' })
  actor.subscribe((snapshot) => {
    if (snapshot.matches('AwaitingApproval')) store(actor.getPersistedSnapshot())
  })
  actor.start()
}

const resume = async () => {
  const approved: Record<string, boolean> = JSON.parse(decisions)
  if (kind !== 'actor') return console.log(JSON.stringify(await agent.resume(stored(), approved)))
  const actor = createActor(agent.machine, { input: {}, snapshot: stored() })
  actor.subscribe({ complete: () => console.log(JSON.stringify(actor.getSnapshot().output)) })
  actor.start()
  for (const [callId, isApproved] of Object.entries(approved)) {
    actor.send({ type: isApproved ? 'tool.approve' : 'tool.reject', callId })
  }
}

await (mode === 'ask' ? ask() : resume())
