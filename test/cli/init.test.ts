import { execFile, spawn } from 'node:child_process'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { bareEnvironment, folder, seen, statewire } from './spawned.ts'

const written = ['.gitignore', 'agent.js', 'agent.test.js', 'package.json', 'server.js', 'weather.js']

/** A project in a folder of its own, with this package instead of the published one. */
const project = async (): Promise<string> => {
  const cwd = await folder()
  const { code, stdout, stderr } = await statewire(['init', 'My Agent'], { cwd })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('  cd My Agent\n  npm install\n  npm test\n  npm start\n')
  const home = join(cwd, 'My Agent')
  await mkdir(join(home, 'node_modules'))
  await symlink(resolve('.'), join(home, 'node_modules/statewire'))
  for (const name of ['xstate', 'zod'])
    await symlink(resolve('node_modules', name), join(home, 'node_modules', name))
  return home
}

it('writes a project that passes its own test', async () => {
  const cwd = await project()
  expect((await readdir(cwd)).filter((name) => name !== 'node_modules')).toEqual(written)
  const { name, dependencies } = JSON.parse(await readFile(join(cwd, 'package.json'), 'utf8'))
  expect([name, Object.keys(dependencies)]).toEqual(['my-agent', ['statewire', 'xstate', 'zod']])
  const { stdout } = await promisify(execFile)('npm', ['test'], { cwd })
  expect(stdout).toMatch(/pass 1\b/)
})

it('writes a server that answers without a key', async () => {
  const cwd = await project()
  const child = spawn(process.execPath, ['server.js'], { cwd, env: { ...bareEnvironment(), PORT: '0' } })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const shown = await seen(child.stdout, /curl .*\n/)
  const [, url = '', body = ''] = /curl (\S+) .* -d '(.*)'/.exec(shown) ?? []
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body })
  expect(await response.json()).toMatchObject({
    choices: [{ message: { content: expect.stringContaining('celsius 21') } }],
  })
})

it('overwrites nothing', async () => {
  const cwd = await folder()
  await writeFile(join(cwd, 'agent.js'), 'mine')
  const { code, stderr } = await statewire(['init'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain('. has agent.js already: name another folder, such as my-agent.')
  expect(await readdir(cwd)).toEqual(['agent.js'])
  expect(await readFile(join(cwd, 'agent.js'), 'utf8')).toBe('mine')
})
