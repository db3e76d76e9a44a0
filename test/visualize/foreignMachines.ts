import { type AnyStateMachine, and, assign, createMachine, emit, not, or, raise, stateIn } from 'xstate'

/** Machines that have nothing to do with agents. Together they use everything that a chart can have. */

const light = createMachine({
  id: 'light',
  initial: 'green',
  on: { POWER_CUT: { target: '.red.blinking', reenter: true }, 'sensor.*': { actions: 'note' } },
  states: {
    green: { after: { 1000: 'yellow' } },
    yellow: { after: { 500: { guard: 'isWorkday', target: 'red' }, slow: 'red' } },
    red: {
      initial: 'walk',
      onDone: 'green',
      states: {
        walk: { on: { COUNT: 'wait' }, after: { 90000: 'wait' } },
        wait: { on: { COUNT: 'stop' } },
        stop: { type: 'final' },
        blinking: {},
      },
    },
  },
})

const editor = createMachine({
  id: 'editor',
  type: 'parallel',
  on: { RESET: { target: ['.style.plain', '.list.none'] }, '*': { actions: 'logUnknown' } },
  states: {
    style: {
      initial: 'plain',
      states: { plain: { on: { BOLD: 'bold' } }, bold: { on: { BOLD: 'plain' } } },
    },
    list: {
      initial: 'none',
      states: {
        none: { on: { BULLETS: 'bullets', NUMBERS: 'numbers' } },
        bullets: { on: { NONE: 'none', NUMBERS: 'numbers' } },
        numbers: { on: { NONE: 'none', BULLETS: { guard: stateIn({ style: 'bold' }), target: 'bullets' } } },
      },
    },
  },
})

const player = createMachine({
  id: 'player',
  initial: 'loading',
  states: {
    loading: {
      description: 'Fetches the track.',
      tags: ['busy', 'network'],
      invoke: {
        src: 'load',
        onDone: { target: 'playing', actions: assign({ track: 1 }) },
        onError: [
          { guard: ({ event }) => event.error === null, target: 'loading', reenter: true },
          { target: 'broken' },
        ],
        onSnapshot: { actions: 'progress' },
      },
    },
    playing: {
      initial: 'audio',
      entry: ['start', raise({ type: 'TICK' }), emit({ type: 'started' })],
      exit: 'stop',
      always: { guard: and([not('isMuted'), or(['isMuted', 'isMuted'])]), target: 'paused' },
      on: {
        PAUSE: 'paused',
        SKIP: { guard: { type: 'isLong', params: { seconds: 30 } }, target: 'loading' },
        TICK: {},
      },
      states: {
        audio: { on: { SHOW: 'video' } },
        video: { on: { HIDE: 'audio' } },
        last: { type: 'history' },
        deepest: { type: 'history', history: 'deep' },
      },
    },
    paused: { on: { PLAY: 'playing.last', RESUME: 'playing.deepest' } },
    broken: { type: 'final' },
  },
})

const shop = createMachine({
  id: 'shop',
  initial: 'browsing',
  on: { LOGOUT: '.left' },
  states: {
    browsing: { on: { ADD: { actions: 'add' }, CHECKOUT: { guard: 'hasItems', target: 'checkout' } } },
    checkout: {
      type: 'parallel',
      onDone: 'thanks',
      on: {
        BACK: 'browsing',
        TIMEOUT: [{ guard: 'mayRetry', target: 'checkout', reenter: true }, { target: 'left' }],
      },
      states: {
        payment: {
          initial: 'choosing',
          states: {
            choosing: { on: { CARD: 'card', INVOICE: 'invoice' } },
            card: {
              initial: 'number',
              states: {
                number: { on: { NEXT: { guard: 'isValid', target: 'code' } } },
                code: {
                  on: { NEXT: '#shop.checkout.payment.paid', FAIL: '#shop.checkout.payment.choosing' },
                },
              },
              on: { CANCEL: 'choosing' },
            },
            invoice: { on: { CONFIRM: 'paid' } },
            paid: { type: 'final' },
          },
        },
        address: {
          initial: 'empty',
          states: {
            empty: { on: { TYPE: 'typed' } },
            typed: { always: [{ guard: 'isKnown', target: 'known' }], on: { CLEAR: 'empty' } },
            known: { type: 'final' },
          },
        },
      },
    },
    thanks: { type: 'final' },
    left: { type: 'final' },
  },
})

const nothing = createMachine({ id: 'nothing' })

const hostile = createMachine({
  id: 'a"><script>alert(1)</script>',
  initial: '</title><svg onload="x()">',
  states: {
    '</title><svg onload="x()">': {
      description: ']]></style><script>alert("d")</script>\u0000\ud800',
      on: {
        'x"; --> y : [*] %% {': {
          guard: "it's <b>&amp;",
          target: 'end',
          actions: '</text><image href="x"/>',
        },
      },
      invoke: { src: 'javascript:alert(1)', id: '<i>&' },
    },
    end: { on: { 'new\nline': 'Größe 中文 🚀' } },
    'Größe 中文 🚀': { type: 'final' },
  },
})

export const foreignMachines: AnyStateMachine[] = [light, editor, player, shop, nothing, hostile]
export { editor, hostile, light, nothing, player, shop }
