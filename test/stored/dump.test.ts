import { mkdirSync, writeFileSync } from 'node:fs'
import { test } from 'vitest'
import { snapshotVersion } from '../../machines/snapshotVersion.ts'
import { chartNames, standing, stateNames } from '../api/standingRuns.ts'

test('dump', async () => {
  mkdirSync(`test/stored/${snapshotVersion}`, { recursive: true })
  for (const chart of chartNames)
    for (const state of stateNames)
      writeFileSync(
        `test/stored/${snapshotVersion}/${chart}.${state}.json`,
        `${JSON.stringify(await standing(chart, state), null, 2)}\n`,
      )
}, 60000)
