import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { browserCommand } from '../../src/cli/commands/demo.ts'
import { listen } from '../inspector/watching.ts'
import { folder } from './spawned.ts'
import { ctrlC, hasScript, Terminal } from './Terminal.ts'

describe.skipIf(!hasScript)('demo at a terminal', () => {
  it('opens a browser, says in three lines what happens, and continues with what is asked', {
    timeout: 180_000,
  }, async () => {
    const cwd = await folder()
    const opened = join(cwd, 'opened')
    await mkdir(join(cwd, 'bin'))
    await writeFile(join(cwd, 'bin/xdg-open'), `#!/bin/sh\necho "$1" > ${opened}\n`)
    await chmod(join(cwd, 'bin/xdg-open'), 0o755)
    const env = { PATH: `${join(cwd, 'bin')}:${process.env.PATH}`, DISPLAY: ':0' }
    const demo = new Terminal(['demo'], { env })
    await demo.sees(
      /An agent plans a trip\. Your browser shows it: \S+\s+No key, no network[^\n]*\s+Within a minute it asks/,
    )
    // The browser is a process of its own, and may be slower than the screen.
    const written = () => readFile(opened, 'utf8').catch(() => '')
    await expect.poll(written).toMatch(/\n$/)
    const url = (await written()).trim()
    expect(demo.screen).toContain(url)
    const page = await listen({ url })
    // The first tool runs: about ten seconds would be needed for two of them.
    await page.until(({ tools }) => [...tools.values()].some(({ name }) => name === 'get_weather'))
    demo.types(ctrlC)
    await demo.sees(/aborted[\s\S]*> $/)
    demo.types('Count to 3\r')
    await demo.sees(/1 2 3[\s\S]*> $/)
    demo.types(ctrlC)
    expect(await demo.code).toBe(0)
  })
})

it('opens a browser only where there is a screen', () => {
  expect(browserCommand('linux', { DISPLAY: ':0' })).toEqual(['xdg-open'])
  expect(browserCommand('linux', { WAYLAND_DISPLAY: 'wayland-0' })).toEqual(['xdg-open'])
  expect(browserCommand('linux', {})).toBeUndefined()
  expect(browserCommand('darwin', {})).toEqual(['open'])
  expect(browserCommand('darwin', { SSH_CONNECTION: '10.0.0.1' })).toBeUndefined()
  expect(browserCommand('win32', {})).toEqual(['rundll32', 'url.dll,FileProtocolHandler'])
  expect(browserCommand('win32', { CI: '1' })).toBeUndefined()
})
