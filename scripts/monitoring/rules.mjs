// Recording and alerting rules for Prometheus. Alerts read what the recording rules make, so that both show the same.

const FAILED = 'outcome=~"upstream_error|gateway_error"'
const ATTEMPTS = 'gateway_upstream_attempts_total'
/** What was not asked to its end says nothing of an upstream. */
const ASKED = 'outcome!~"skipped|cancelled"'

const ratio = (by, metric, failed, all, window) => {
  const sum = selector => `sum by (${by}) (rate(${metric}${selector === '' ? '' : `{${selector}}`}[${window}]))`
  return `(${sum(failed)} or 0 * ${sum(all)}) / ${sum(all)}`
}
const quantile = (share, by, metric, selector) =>
  `histogram_quantile(${share}, sum by (${by}, le) (rate(${metric}_bucket${selector}[5m])))`

/** Names are `labels:metric:operations`, as https://prometheus.io/docs/practices/rules/ has it. */
export const RECORDING = [
  {
    name: 'gateway.requests',
    rules: [
      ['job_model_outcome:gateway_requests:rate5m', 'sum by (job, model, outcome) (rate(gateway_requests_total[5m]))'],
      ['job:gateway_request_errors:ratio_rate5m', ratio('job', 'gateway_requests_total', FAILED, '', '5m')],
      ['job:gateway_request_errors:ratio_rate1h', ratio('job', 'gateway_requests_total', FAILED, '', '1h')],
      [
        'job_upstream:gateway_attempt_errors:ratio_rate5m',
        ratio('job, upstream', ATTEMPTS, 'outcome!~"ok|skipped|cancelled"', ASKED, '5m'),
      ],
      ['job_upstream:gateway_attempts:rate5m', `sum by (job, upstream) (rate(${ATTEMPTS}{${ASKED}}[5m]))`],
    ],
  },
  {
    name: 'gateway.times',
    rules: [
      [
        'job_route:http_server_request_duration_seconds:p95_5m',
        quantile(0.95, 'job, http_route', 'http_server_request_duration_seconds', ''),
      ],
      ['job:gateway_own_duration_seconds:p99_5m', quantile(0.99, 'job', 'gateway_own_duration_seconds', '')],
      [
        'job_model:gen_ai_time_to_first_token_seconds:p95_5m',
        quantile(0.95, 'job, gen_ai_request_model', 'gen_ai_server_time_to_first_token_seconds', '{stream="true"}'),
      ],
    ],
  },
  {
    name: 'gateway.use',
    rules: [
      ['job_model:gateway_cost_usd:increase1h', 'sum by (job, model) (increase(gateway_cost_usd_total[1h]))'],
      ['job_group:gateway_cost_usd:increase1h', 'sum by (job, group) (increase(gateway_group_cost_usd_total[1h]))'],
      [
        'job_model_type:gen_ai_tokens:rate5m',
        'sum by (job, gen_ai_request_model, gen_ai_token_type) (rate(gen_ai_client_token_usage_sum[5m]))',
      ],
    ],
  },
]

const rule = (alert, severity, wait, expr, summary, description) => ({
  ...{ alert, expr },
  ...(wait === undefined ? {} : { for: wait }),
  labels: { severity },
  annotations: { summary, description },
})

export const ALERTS = [
  {
    name: 'gateway.serving',
    rules: [
      rule(
        'GatewayAbsent',
        'critical',
        '5m',
        'absent(gateway_config_generation)',
        'No gateway is scraped',
        'Prometheus has had metrics of no gateway for 5 minutes. Look whether it runs, and whether the scrape has the admin key.',
      ),
      rule(
        'GatewayErrors',
        'critical',
        '2m',
        'job:gateway_request_errors:ratio_rate5m > 0.05 and job:gateway_request_errors:ratio_rate1h > 0.01',
        '{{ $value | humanizePercentage }} of requests fail',
        'Requests end with errors of upstreams or of the gateway. The dashboard of upstreams shows which one; the log has the cause of each.',
      ),
      rule(
        'GatewaySlowItself',
        'warning',
        '10m',
        'job:gateway_own_duration_seconds:p99_5m > 0.25',
        'The gateway itself takes {{ $value | humanizeDuration }} of a request',
        'At the 99th percentile, beside the time of upstreams. Look at the delay of the event loop, the CPU, and the time of the store.',
      ),
      rule(
        'GatewayEventLoopLate',
        'warning',
        '10m',
        'nodejs_eventloop_delay_p99_seconds > 0.1',
        'The event loop of {{ $labels.instance }} is {{ $value | humanizeDuration }} late',
        'The process has more work than one core can do. Add workers or instances.',
      ),
      rule(
        'GatewayRestarts',
        'warning',
        undefined,
        'resets(process_uptime_seconds[15m]) > 2',
        '{{ $labels.instance }} has started {{ $value }} times in 15 minutes',
        'The process ends and is started again. Its last log lines say why.',
      ),
    ],
  },
  {
    name: 'gateway.upstreams',
    rules: [
      rule(
        'GatewayUpstreamFails',
        'warning',
        '5m',
        'job_upstream:gateway_attempt_errors:ratio_rate5m > 0.5 and job_upstream:gateway_attempts:rate5m > 0.02',
        '{{ $value | humanizePercentage }} of attempts at {{ $labels.upstream }} fail',
        'More than half of the attempts of 5 minutes failed. Requests go to other targets where the model has some.',
      ),
      rule(
        'GatewayUpstreamRests',
        'warning',
        '5m',
        'max_over_time(gateway_upstream_breaker_state[2m]) == 2',
        '{{ $labels.upstream }} is asked last',
        'The upstream failed so often that others are asked before it. GET /admin/upstreams says why.',
      ),
      rule(
        'GatewayRequestsWait',
        'warning',
        '5m',
        'gateway_upstream_pool_waiting > 0',
        '{{ $value }} requests wait for a connection to {{ $labels.upstream }}',
        'All connections to the upstream are in use. Raise pool.connections of the upstream, or slow the clients down by a limit.',
      ),
      rule(
        'GatewayFirstTokenLate',
        'warning',
        '10m',
        'job_model:gen_ai_time_to_first_token_seconds:p95_5m > 20',
        'Streams of {{ $labels.gen_ai_request_model }} begin after {{ $value | humanizeDuration }}',
        'One of twenty streams took longer than this to its first content.',
      ),
      rule(
        'GatewayCanaryRests',
        'info',
        undefined,
        'gateway_canary_resting == 1',
        'The canary {{ $labels.canary }} of {{ $labels.model }} gets no requests',
        'It failed more often than the others. It is tried again by itself; the log has the counts.',
      ),
    ],
  },
  {
    name: 'gateway.configuration',
    rules: [
      rule(
        'GatewayConfigInvalid',
        'warning',
        '5m',
        'gateway_config_valid == 0',
        'The files of {{ $labels.instance }} have errors',
        'The last good configuration serves. A restart would fail. Run gateway validate, or look at the log.',
      ),
      rule(
        'GatewayConfigNotFetched',
        'warning',
        '15m',
        'rate(gateway_config_fetches_total{result=~"failed|refused"}[15m]) > 0',
        '{{ $labels.instance }} does not get its configuration from its address',
        'The last good configuration serves. The log and /readyz?verbose say why it cannot be fetched, or is refused.',
      ),
      rule(
        'GatewayConfigDiffers',
        'warning',
        '15m',
        'count by (job) (count by (job, digest) (gateway_config_info)) > 1',
        'Instances serve {{ $value }} different configurations',
        'Some instances have missed a change. gateway_config_info shows which instance serves which digest.',
      ),
      rule(
        'GatewayLabelsFull',
        'info',
        undefined,
        'sum by (job) (increase(gateway_requests_total{model="other"}[1h])) > 0',
        'Metrics have no room for more models',
        'Models beyond the bound of a label are counted as other, until the process starts again.',
      ),
    ],
  },
  {
    name: 'gateway.budgets',
    rules: [
      rule(
        'GatewayBudgetNearlySpent',
        'warning',
        undefined,
        'gateway_budget_left_usd / (gateway_budget_left_usd + gateway_budget_used_usd) < 0.1 and gateway_budget_left_usd > 0',
        'The {{ $labels.window }} budget of {{ $labels.scope }} {{ $labels.name }} is nearly spent',
        '{{ $value | humanizePercentage }} of it is left. When nothing is left, requests are refused with status 429.',
      ),
      rule(
        'GatewayBudgetSpent',
        'warning',
        undefined,
        'gateway_budget_left_usd <= 0',
        'The {{ $labels.window }} budget of {{ $labels.scope }} {{ $labels.name }} is spent',
        'Requests are refused until its window ends, or the budget is raised.',
      ),
    ],
  },
  {
    name: 'gateway.store',
    rules: [
      rule(
        'GatewayStoreDown',
        'critical',
        '1m',
        'gateway_store_up == 0',
        'The {{ $labels.type }} store of {{ $labels.instance }} cannot be used',
        'Requests that need the store are refused; the others are served. GET /readyz?verbose says why.',
      ),
      rule(
        'GatewayNotStored',
        'warning',
        undefined,
        'increase(gateway_store_faults_total[10m]) > 0',
        'Something could not be stored',
        'The log says what. What had to be stored is tried again where that is possible.',
      ),
      rule(
        'GatewayTaskOld',
        'warning',
        '5m',
        'max by (job, task_kind, state) (gateway_task_oldest_age_seconds) > 7200',
        'A {{ $labels.task_kind }} task has been {{ $labels.state }} for {{ $value | humanizeDuration }}',
        'Tasks of this age usually hang at their upstream. They end at their deadline; gateway tasks list shows them.',
      ),
      rule(
        'GatewayWebhooksGivenUp',
        'warning',
        undefined,
        'sum by (job) (increase(gateway_webhook_attempts_total{outcome="given_up"}[1h])) > 0',
        'Clients have not heard of the end of their tasks',
        'Notifications were given up after their last attempt. They are kept and can be listed.',
      ),
    ],
  },
]
