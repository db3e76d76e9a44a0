// @ts-check
import { connect } from './actions.js'
import { startChart } from './chart.js'
import { startContext } from './context.js'
import { startOutput } from './output.js'
import { startRecording } from './recording.js'
import { startSubject } from './subject.js'
import { startTabs } from './tabs.js'
import { startTheme } from './theme.js'
import { startTimeline } from './timeline.js'
import { startTools } from './tools.js'
import { startTransitions } from './transitions.js'
import { startTree } from './tree.js'
import { startUsage } from './usage.js'
import { startWire } from './wire.js'

startTheme()
startTabs()
startTree()
startSubject()
startChart()
startOutput()
startTools()
startTransitions()
startContext()
startUsage()
startWire()
startRecording()
startTimeline()
connect()
