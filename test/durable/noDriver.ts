// Opens a store where no driver is to be found.
import { openRuns, sqlite } from '../../src/durable/index.ts'

openRuns({ store: sqlite(process.argv[2] ?? ''), agents: {} }).catch((error) =>
  console.log(`${error.name}: ${error.message}`),
)
