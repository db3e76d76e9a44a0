import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createMachine } from 'xstate'
import { checkPolicy } from '../../src/cli/commands/policy.ts'
import { findMachine } from '../../src/cli/moduleFile.ts'
import { refundDesk } from './refunds.ts'

test('prints proofs, stories and mistakes', async () => {
  const { policy } = refundDesk()
  const proved = await checkPolicy(policy, {
    tools: ['verify_customer', 'refund'],
    never: {
      'refund before verification': ({ event, seen }) =>
        event === 'refund.call' && !seen.has('verify_customer.done'),
    },
  })
  expect(proved).toEqual({
    isFine: true,
    lines: ['refunds: 3 states can be reached.', '✓ proved, never: refund before verification'],
  })
  const open = createMachine({ id: 'open', on: { 'refund.call': { actions: () => {} }, 'pay.call': {} } })
  const refuted = await checkPolicy(open, {
    tools: ['refund'],
    never: { 'a refund': ({ event }) => event === 'refund.call' },
  })
  expect(refuted).toEqual({
    isFine: false,
    lines: [
      'open: 1 states can be reached.',
      '✗ refuted, never: a refund',
      '    1. refund.call → ',
      "! The root has an empty transition for 'pay.call', which refuses it: give it an action or a target.",
      '',
      '%% never: a refund',
      'stateDiagram-v2',
      '  direction TB',
      '  state "open" as open',
      '  open : refund.call',
      '  open : pay.call',
      '  note right of open : 1. refund.call',
    ],
  })
})

test('draws a way that breaks a claim into the chart', async () => {
  const { policy } = refundDesk()
  const { lines } = await checkPolicy(policy, {
    tools: ['verify_customer', 'refund'],
    never: { 'a refund that waits for a person': ({ event, isAsked }) => event === 'refund.call' && isAsked },
    reachable: { 'a refund': ({ event }) => event === 'refund.call' },
  })
  expect(lines.filter((line) => line.startsWith('stateDiagram'))).toHaveLength(1)
  expect(lines.filter((line) => line.includes('note right of'))).toEqual([
    '  note right of Unknown : 1. verify_customer.call',
    '  note right of Verified : 2. verify_customer.done',
    '  note right of Asking : 3. refund.call',
  ])
})

test('reads the policy of a file, and looks at the tools that it mentions', async () => {
  const file = join(await mkdtemp(join(tmpdir(), 'statewire-policy-')), 'rules.mjs')
  await writeFile(
    file,
    `import { createMachine } from '${import.meta.resolve('xstate')}'
export const rules = createMachine({ id: 'rules', initial: 'A', states: { A: { on: { 'a.call': 'B' } }, B: {}, C: {} } })`,
  )
  const { lines } = await checkPolicy(await findMachine(file, undefined))
  expect(lines).toEqual(['rules: 2 states can be reached.', '! No run reaches the state C.'])
})
