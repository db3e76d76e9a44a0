import { expect, test, vi } from 'vitest'
import { dbosRuns } from '../../src/dbos/index.ts'
import { ConfigurationError } from '../../src/index.ts'

vi.mock('@dbos-inc/dbos-sdk', () => {
  throw new Error("Cannot find package '@dbos-inc/dbos-sdk'")
})

test('without DBOS, an error says how to install it', async () => {
  const opened = dbosRuns({ databaseUrl: 'postgresql://localhost/runs', agents: {} })
  await expect(opened).rejects.toBeInstanceOf(ConfigurationError)
  await expect(opened).rejects.toThrow('npm install @dbos-inc/dbos-sdk')
})
