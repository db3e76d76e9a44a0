// @ts-check
import { connect } from './actions.js'
import { startBanner } from './banner.js'
import { startChart } from './chart.js'
import { startCompare } from './compare.js'
import { startContext } from './context.js'
import { startConversation } from './conversation.js'
import { startDrawer } from './drawer.js'
import { startRecording } from './recording.js'
import { startSubject } from './subject.js'
import { startTabs } from './tabs.js'
import { startTheme } from './theme.js'
import { startTimeline } from './timeline.js'
import { startTransitions } from './transitions.js'
import { startTree } from './tree.js'
import { startUsage } from './usage.js'
import { startWire } from './wire.js'

startTheme()
startTabs()
startTree()
startDrawer()
startSubject()
startChart()
startBanner()
startCompare()
startConversation()
startTransitions()
startContext()
startUsage()
startWire()
startRecording()
startTimeline()
connect()
