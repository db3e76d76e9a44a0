import { mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

const folder = process.env.BENCH_PROFILES

/** Processor and wall time of some work, in µs; with `--profiles` also a CPU profile of exactly this part. */
export const cpuOf = async (work) => {
  const stop = folder && (await startProfile())
  const before = process.cpuUsage()
  const begin = performance.now()
  await work()
  const wall = (performance.now() - begin) * 1000
  const { user, system } = process.cpuUsage(before)
  if (stop) await stop()
  return { cpu: user + system, wall }
}

const startProfile = async () => {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 200 })
  await session.post('Profiler.start')
  return async () => {
    const { profile } = await session.post('Profiler.stop')
    const { task, contender, wire = 'openai-chat', pacing = 'bulk', per = '' } = JSON.parse(process.argv[2])
    const name = [contender, task, wire, pacing, per, process.pid].join('-')
    mkdirSync(folder, { recursive: true })
    writeFileSync(`${folder}/${name}.cpuprofile`, JSON.stringify(profile))
  }
}
