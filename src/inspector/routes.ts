import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { RunStatus } from '../durable/index.ts'
import { runStatuses, statuses } from './actorRow.ts'
import { chartView } from './chart.ts'
import { applyCommand } from './commands.ts'
import { exportRun } from './exportRun.ts'
import { pastMoment } from './moments.ts'
import type { PageRuns } from './PageRuns.ts'
import { Feed, type Pages } from './Pages.ts'
import type { Recorder } from './Recorder.ts'
import { answer, bodyOf, isOwnHost, isOwnOrigin, isToken, Refusal } from './requests.ts'
import type { Subject } from './StoredRecord.ts'
import { safeJson } from './secrets.ts'
import { wholeRun } from './Watch.ts'
import { wireContent, wireView } from './wireRows.ts'

const pageFolder = new URL('./page/', import.meta.url)

/** The layout engine, which the page's worker loads: the build puts it beside this code. */
const builtElk = new URL('./elk.bundled.cjs', import.meta.url)
const elkFile = () =>
  existsSync(builtElk) ? builtElk : createRequire(import.meta.url).resolve('elkjs/lib/elk.bundled.js')

const types = new Map([
  ['html', 'text/html'],
  ['css', 'text/css'],
  ['js', 'text/javascript'],
])

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** The addresses of the server. All are below the token. */
export const routes = (
  recorder: Recorder,
  pages: Pages,
  pageRuns: PageRuns,
  token: string,
  portOf: () => number,
): Handler => {
  const { secrets } = recorder
  const names = readdirSync(pageFolder).filter((name) => types.has(endingOf(name)))
  const files = new Map<string, URL | string>(names.map((name) => [name, new URL(name, pageFolder)]))
  files.set('elk.js', elkFile())

  const actorOf = (query: URLSearchParams): Subject => {
    const record = recorder.subject(Number(query.get('actor')))
    if (!record) throw new Refusal(404, 'There is no such actor, or it is no longer kept.')
    return record
  }

  const runOf = async (id: string): Promise<Subject> => {
    await Promise.all(recorder.stores.map((store) => store.find(id)))
    const run = recorder.storedRun(id)
    if (!run) throw new Refusal(404, 'There is no such run.')
    return run
  }

  /** The actor that an address names, by its number or as a stored run; null for none. */
  const chosenIn = async (query: URLSearchParams): Promise<number | null> => {
    const run = query.get('run')
    if (run !== null) return (await runOf(run)).id
    return query.has('actor') ? actorOf(query).id : null
  }

  const look = async (path: string, query: URLSearchParams, response: ServerResponse): Promise<void> => {
    switch (path) {
      case 'events':
        return pages.add(response, new Feed(recorder, await chosenIn(query)))
      case 'older': {
        const wanted = { text: (query.get('text') ?? '').slice(0, 200), status: statusIn(query) }
        const hasMore = await Promise.all(recorder.stores.map((store) => store.older(wanted)))
        return answer(response, 200, 'application/json', JSON.stringify({ hasMore: hasMore.includes(true) }))
      }
      case 'run': {
        const run = wholeRun(recorder, actorOf(query))
        return answer(response, 200, 'application/json', safeJson(run, secrets))
      }
      case 'moment': {
        const moment = pastMoment(recorder, actorOf(query), Number(query.get('seq')))
        if (!moment) throw new Refusal(404, 'This moment is no longer kept.')
        return answer(response, 200, 'application/json', safeJson(moment, secrets))
      }
      case 'chart': {
        const { machine } = actorOf(query)
        if (!machine) throw new Refusal(404, 'This actor has no chart.')
        return answer(response, 200, 'application/json', safeJson(chartView(machine), secrets))
      }
      case 'export': {
        const isJson = query.get('as') === 'json'
        return exportRun(response, { recorder, subject: actorOf(query), files, isJson })
      }
      case 'wire':
        return answer(response, 200, 'application/json', safeJson(wireView(actorOf(query), secrets), secrets))
      case 'call': {
        const content = wireContent(actorOf(query), Number(query.get('call')), secrets)
        if (!content) throw new Refusal(404, 'There is no such call of a model, or it is no longer kept.')
        return answer(response, 200, 'application/json', safeJson(content, secrets))
      }
      default:
        throw new Refusal(404, 'There is nothing here.')
    }
  }

  return async (request, response) => {
    if (!isOwnHost(request, portOf()))
      throw new Refusal(403, 'The inspector answers only under its own address.')
    const [pathname = '', query = ''] = (request.url ?? '').split('?')
    const [, given = '', path, ...rest] = pathname.split('/')
    if (!isToken(given, token)) throw new Refusal(403, 'Open the whole address that the inspector printed.')
    if (path === undefined) return redirect(response, token)
    if (rest.length > 0) throw new Refusal(404, 'There is nothing here.')
    const file = path === '' ? 'index.html' : path
    if (file !== 'index.html' && !isOwnOrigin(request))
      throw new Refusal(403, 'Only the page of the inspector may ask for this.')
    if (path === 'command') {
      if (request.method !== 'POST') throw new Refusal(405, 'Send a command with POST.')
      if (request.headers.origin === undefined)
        throw new Refusal(403, 'Only the page of the inspector may ask for this.')
      const result = await applyCommand(recorder, pageRuns, await bodyOf(request))
      return answer(response, 200, 'application/json', safeJson(result, secrets))
    }
    if (request.method !== 'GET') throw new Refusal(405, 'Only GET is allowed here.')
    const found = files.get(file)
    if (!found) return look(path, new URLSearchParams(query), response)
    answer(response, 200, types.get(endingOf(file)) ?? '', await readFile(found))
  }
}

/** The status of stored runs that a page asks for, in its own words. */
const statusIn = (query: URLSearchParams): RunStatus | undefined => {
  const wanted = query.get('status')
  return runStatuses.find((status) => statuses[status] === wanted)
}

const endingOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1)

const redirect = (response: ServerResponse, token: string): void => {
  response.writeHead(308, { location: `/${token}/` })
  response.end()
}
