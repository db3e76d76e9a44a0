/** The view that the inspector and the command line have of a store. */
import { expect, test } from 'vitest'
import { viewOf } from '../../src/durable/storeView.ts'
import { opened, storeFile } from './storeFile.ts'
import { callOf, wiping } from './wiping.ts'

test('a view has what a run continues from, and the newest chat of an agent', async () => {
  const path = storeFile()
  const { agent } = wiping(['A.', 'B.', [callOf('c', 'b')]])
  const runs = await opened(path, { agent })
  const view = viewOf(runs)
  expect(await view?.newestChat('agent')).toBeUndefined()
  const [first, second] = [await runs.chat('first'), await runs.chat('second')]
  expect([await view?.lastRun('first'), await view?.lastRun('none')]).toEqual([undefined, undefined])
  await (await first.send('a?', { id: 'one' })).result
  await (await second.send('b?', { id: 'two' })).result
  expect([await view?.newestChat('agent'), await view?.newestChat('other')]).toEqual(['second', undefined])
  expect([await view?.lastRun('first'), await view?.lastRun('second')]).toEqual(['one', 'two'])
  await (await first.send('c?', { id: 'three' })).result
  expect([await view?.newestChat('agent'), await view?.lastRun('first')]).toEqual(['first', 'three'])
  expect(await view?.from('three')).toMatchObject({
    snapshot: { status: 'active', value: 'AwaitingApproval', context: { history: { length: 4 } } },
  })
  expect(await view?.conversation('three')).toMatchObject({ before: { length: 2 }, added: { length: 2 } })
  expect([await view?.from('none'), await view?.conversation('none')]).toEqual([undefined, undefined])
  expect([view?.agent('agent'), view?.agent('toString')]).toEqual([agent, undefined])
  expect([view?.isOwner(), await view?.hasOwner()]).toEqual([true, true])
})

test('a view has the input of a run that has not begun', async () => {
  const path = storeFile()
  await opened(path, { busy: wiping([]).agent })
  const runs = await opened(path, { agent: wiping([]).agent })
  await runs.start('agent', 'Hi', { id: 'job' })
  expect(await viewOf(runs)?.from('job')).toEqual({ input: { prompt: 'Hi', id: 'job' } })
  expect(viewOf(runs)?.restart?.('job')).toBe(false)
})

test('there is no view of other runs', () => {
  expect(viewOf({} as never)).toBeUndefined()
})
