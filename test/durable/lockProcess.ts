// Another program that holds a file until it is killed: `node lockProcess.mjs <file>`.
import { findDriver } from '../../src/durable/sqlite/driver.ts'

const open = await findDriver()
const file = open(process.argv[2] ?? '')
file.exec('PRAGMA busy_timeout = 30000')
file.exec('BEGIN EXCLUSIVE')
process.stdout.write('locked\n')
setInterval(() => file.prepare('SELECT 1').get(), 1000)
