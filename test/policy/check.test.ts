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
    ],
  })
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
