import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { executablePath, launch } from '../inspector/browser.ts'

if (!executablePath) console.log('The chat page is not tested: there is no browser. Set CHROMIUM_PATH.')

const folder = mkdtempSync(join(tmpdir(), 'statewire-page-'))

/** Starts the page's server, as a user would, and gives the address it prints. */
const serve = (): Promise<{ server: ChildProcess; url: string }> =>
  new Promise((resolve, reject) => {
    const server = spawn(process.execPath, ['examples/react/server.mjs'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, CHATS: join(folder, 'chats.db'), PORT: '0' },
    })
    let printed = ''
    const read = (text: Buffer) => {
      printed += text
      const url = /http:\/\/127\.0\.0\.1:\d+\//.exec(printed)?.[0]
      if (url) resolve({ server, url })
    }
    server.stdout.on('data', read)
    server.stderr.on('data', read)
    server.on('close', () => reject(new Error(`The server ended: ${printed}`)))
  })

const kill = (server: ChildProcess | undefined): Promise<unknown> =>
  new Promise((resolve) => {
    if (!server || server.exitCode !== null) return resolve(undefined)
    server.on('close', resolve)
    server.kill('SIGKILL')
  })

/** A door that stays open while the servers behind it change: a port that was closed could be taken by another program. */
const openDoor = async () => {
  let port = 0
  const door = createServer((client) => {
    const server = connect(port, '127.0.0.1')
    for (const socket of [client, server]) {
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        server.destroy()
      })
    }
    client.pipe(server).pipe(client)
  }).listen(0, '127.0.0.1')
  await once(door, 'listening')
  const address = door.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`,
    leadTo: (url: string) => {
      port = Number(new URL(url).port)
    },
    close: () => door.close(),
  }
}

describe.skipIf(!executablePath)('the chat page, in a real browser', () => {
  let server: ChildProcess | undefined
  let door: Awaited<ReturnType<typeof openDoor>>
  let browser: Browser | undefined
  let page: Page
  let problems: string[] = []

  beforeAll(async () => {
    const started = await serve()
    server = started.server
    door = await openDoor()
    door.leadTo(started.url)
    browser = await launch()
    page = await browser.newPage()
    page.on('pageerror', (error) => problems.push(String(error)))
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text())
    })
    await page.goto(door.url)
  }, 180_000)

  afterAll(async () => {
    await browser?.close()
    await kill(server)
    door.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** The answer to what was asked last. */
  let place = 0
  const last = () => page.locator('article.assistant').nth(place)
  const state = (name: string) => last().locator('.state', { hasText: name }).waitFor()
  const ask = async (prompt: string) => {
    place = await page.locator('article.assistant').count()
    await page.getByLabel('Prompt').fill(prompt)
    await page.getByRole('button', { name: 'Ask' }).click()
  }
  const ready = () => page.getByRole('button', { name: 'Ask' }).waitFor()

  test('streams an answer, its calls and its states', async () => {
    await ask('What is the weather in Oslo?')
    await state('Accumulating')
    await state('Complete')
    expect(await last().locator('.call').textContent()).toMatch(
      /get_weather {"city":"Oslo"}→ {"city":"Oslo","celsius":21}/,
    )
    expect(await last().locator('p').last().textContent()).toMatch(/Oslo.*21/)
    expect(await last().locator('.usage').textContent()).toMatch(/\d+ tokens/)
  })

  test('continues after a reload in the middle of an answer', async () => {
    await ready()
    await ask('What is the weather in Lima?')
    await last().locator('.call', { hasText: 'Lima' }).waitFor()
    await page.reload()
    await page.getByText('What is the weather in Lima?').waitFor()
    await state('Complete')
    expect(await last().locator('p').last().textContent()).toMatch(/Lima.*21/)
    expect(await page.locator('article').count()).toBe(4)
  })

  test('asks before it sends, and still does after the server was killed and the page reloaded', async () => {
    await ready()
    await ask('Please send a postcard to Rome.')
    await page.getByRole('button', { name: 'Approve' }).waitFor()
    await state('AwaitingApproval')
    await kill(server)
    const started = await serve()
    server = started.server
    door.leadTo(started.url)
    await page.reload()
    await page.getByRole('button', { name: 'Approve' }).click()
    await state('Complete')
    expect(await last().textContent()).toContain('A postcard is on its way to Rome.')
  })

  test('looks and asks in one answer, and continues once it is approved', async () => {
    await ready()
    await ask('What is the weather in Oslo? Send a postcard there, too.')
    await page.getByRole('button', { name: 'Approve' }).click()
    await state('Complete')
    expect(await last().textContent()).toMatch(/get_weather.*celsius.*send_postcard.*on its way to Oslo/)
  })

  test('takes a no', async () => {
    await ready()
    await ask('Please send a postcard to Paris.')
    await page.getByRole('button', { name: 'Deny' }).click()
    await state('Complete')
    expect(await last().locator('.call').textContent()).toContain('denied')
    expect(await last().textContent()).not.toContain('on its way to Paris')
  })

  test('answers a tool of the page', async () => {
    await ready()
    await ask('What is my time zone?')
    await state('Complete')
    expect(await last().locator('.call').textContent()).toMatch(/get_time_zone .*"timeZone":"/)
  })

  test('stops, asks again, and reports no problem', async () => {
    await ready()
    await ask('What is the weather in Bergen?')
    await page.getByRole('button', { name: 'Stop' }).click()
    await ready()
    await page.getByRole('button', { name: 'Again' }).click()
    await state('Complete')
    expect(await last().locator('p').last().textContent()).toMatch(/Bergen.*21/)
    expect(problems.filter((problem) => !problem.includes('ERR_CONNECTION_REFUSED'))).toEqual([])
    problems = []
  })
})
