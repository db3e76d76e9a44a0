import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { describeMachine } from '../visualize/describeMachine.ts'
import { obey } from './command.ts'
import { exportRun } from './exportRun.ts'
import { Feed } from './Feed.ts'
import { type Pages, safeJson } from './Pages.ts'
import type { Recorder } from './Recorder.ts'
import { answer, bodyOf, Refusal } from './requests.ts'
import { pastMoment } from './rows.ts'
import type { Subject } from './StoredRecord.ts'
import { isOwnHost, isOwnOrigin, isToken } from './security.ts'
import type { Trials } from './Trials.ts'
import { wholeRun } from './wholeRun.ts'
import { wireContent, wireView } from './wireRows.ts'

const pageFolder = new URL('./page/', import.meta.url)

/** The layouter, which the page's worker loads: the build puts it beside this code. */
const builtElk = new URL('./elk.bundled.cjs', import.meta.url)
const elkFile = () =>
  existsSync(builtElk) ? builtElk : createRequire(import.meta.url).resolve('elkjs/lib/elk.bundled.js')

const types = new Map([
  ['html', 'text/html'],
  ['css', 'text/css'],
  ['js', 'text/javascript'],
])

export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** What is at which address. Everything lies below the token. */
export const routes = (
  recorder: Recorder,
  pages: Pages,
  trials: Trials,
  token: string,
  portOf: () => number,
): Handler => {
  const { secrets } = recorder
  const names = readdirSync(pageFolder).filter((name) => types.has(endingOf(name)))
  const files = new Map<string, URL | string>(names.map((name) => [name, new URL(name, pageFolder)]))
  files.set('elk.js', elkFile())

  const actorOf = (query: URLSearchParams): Subject => {
    const record = recorder.subject(Number(query.get('actor')))
    if (!record) throw new Refusal(404, 'This actor is not known, or no longer kept.')
    return record
  }

  const look = async (path: string, query: URLSearchParams, response: ServerResponse): Promise<void> => {
    switch (path) {
      case 'events':
        return pages.add(response, new Feed(recorder, query.has('actor') ? actorOf(query).id : null))
      case 'run': {
        const run = wholeRun(recorder, actorOf(query))
        return answer(response, 200, 'application/json', safeJson(run, recorder.secrets))
      }
      case 'moment': {
        const moment = pastMoment(recorder, actorOf(query), Number(query.get('seq')))
        if (!moment) throw new Refusal(404, 'This moment is no longer kept.')
        return answer(response, 200, 'application/json', safeJson(moment, recorder.secrets))
      }
      case 'chart': {
        const { machine } = actorOf(query)
        if (!machine) throw new Refusal(404, 'This actor has no chart.')
        const chart = describeMachine(machine)
        return answer(response, 200, 'application/json', safeJson(chart, recorder.secrets))
      }
      case 'export': {
        const isJson = query.get('as') === 'json'
        return exportRun(response, { recorder, subject: actorOf(query), files, isJson })
      }
      case 'wire':
        return answer(response, 200, 'application/json', safeJson(wireView(actorOf(query), secrets), secrets))
      case 'call': {
        const content = wireContent(actorOf(query), Number(query.get('call')), secrets)
        if (!content) throw new Refusal(404, 'This call of a model is not known, or no longer kept.')
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
    if (!isToken(given, token))
      throw new Refusal(403, 'Open the address that the inspector printed, all of it.')
    if (path === undefined) return redirect(response, token)
    if (rest.length > 0) throw new Refusal(404, 'There is nothing here.')
    const file = path === '' ? 'index.html' : path
    if (file !== 'index.html' && !isOwnOrigin(request))
      throw new Refusal(403, 'Only the inspector itself may ask.')
    if (path === 'command') {
      if (request.method !== 'POST') throw new Refusal(405, 'A command is posted.')
      if (request.headers.origin === undefined) throw new Refusal(403, 'Only the inspector itself may ask.')
      const obeyed = await obey(recorder, trials, await bodyOf(request))
      return answer(response, 200, 'application/json', safeJson(obeyed, recorder.secrets))
    }
    if (request.method !== 'GET') throw new Refusal(405, 'This can only be read.')
    const found = files.get(file)
    if (!found) return look(path, new URLSearchParams(query), response)
    answer(response, 200, types.get(endingOf(file)) ?? '', await readFile(found))
  }
}

const endingOf = (name: string): string => name.slice(name.lastIndexOf('.') + 1)

const redirect = (response: ServerResponse, token: string): void => {
  response.writeHead(308, { location: `/${token}/` })
  response.end()
}
