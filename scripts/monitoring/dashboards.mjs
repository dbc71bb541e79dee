// The dashboards: their panels, and the queries behind them.
import { bars, line, stat, variable } from './panels.mjs'

const p = (quantile, metric, by, more = '') =>
  `histogram_quantile(${quantile}, sum by (${['le', ...by].join(', ')}) (rate(${metric}_bucket{@${more}}[@])))`

/** Share of what grows, also where nothing of it has failed yet. */
const share = (metric, by, failed, all) => {
  const sum = more => `sum by (${by}) (rate(${metric}{@${more}}[@]))`
  return `(${sum(failed)} or 0 * ${sum(all)}) / ${sum(all)}`
}

const MODEL = ',model=~"$model"'
const GEN_AI = ',gen_ai_request_model=~"$model"'
const UPSTREAM = ',upstream=~"$upstream"'
const GOOD_IS_ZERO = [
  [null, 'blue'],
  [1, 'vermillion'],
]
const GOOD_IS_ONE = [
  [null, 'vermillion'],
  [1, 'blue'],
]
const SHARES = [
  [null, 'blue'],
  [0.01, 'orange'],
  [0.05, 'vermillion'],
]
const FAILED = 'outcome=~"upstream_error|gateway_error"'

const overview = {
  uid: 'model-gateway-overview',
  title: 'Model gateway: overview',
  description: 'Whether the gateway serves its clients, and what it needs for that.',
  rows: [
    {
      title: 'At a glance',
      panels: [
        stat('Requests', 'Requests that ended, each second.', 'reqps', 'sum(rate(gateway_requests_total{@}[@]))'),
        stat(
          'Errors',
          'Share of requests that ended with an error of an upstream or of the gateway. Errors of clients are not in it.',
          'percentunit',
          `(sum(rate(gateway_requests_total{@,${FAILED}}[@])) or vector(0)) / sum(rate(gateway_requests_total{@}[@]))`,
          { steps: SHARES, max: 1 },
        ),
        stat(
          'Duration, p95',
          'Nineteen of twenty requests are faster than this, from their arrival to the end of their answer.',
          's',
          p(0.95, 'http_server_request_duration_seconds', []),
        ),
        stat('In flight', 'Requests that have not ended.', 'short', 'sum(gateway_requests_in_flight{@})'),
        stat(
          'Tokens',
          'Tokens that are charged, each second, input and output together.',
          'suffix: tokens/s',
          'sum(rate(gateway_charged_tokens_total{@}[@]))',
        ),
        stat(
          'Cost',
          'What requests cost, as it would add up in an hour at the present rate.',
          'currencyUSD',
          'sum(rate(gateway_cost_usd_total{@}[@])) * 3600',
        ),
      ],
    },
    {
      title: 'Traffic',
      panels: [
        line(
          'Requests by outcome',
          'How requests ended. client_abort: the client went away before its answer was complete.',
          'reqps',
          [['sum by (outcome) (rate(gateway_requests_total{@}[@]))', '{{outcome}}']],
          { stacked: true },
        ),
        line('Duration of requests', 'From the arrival of a request to the end of its answer.', 's', [
          [p(0.5, 'http_server_request_duration_seconds', []), 'p50'],
          [p(0.95, 'http_server_request_duration_seconds', []), 'p95'],
          [p(0.99, 'http_server_request_duration_seconds', []), 'p99'],
        ]),
        line(
          'Time of the gateway itself',
          'Time of a request less that of its attempts at upstreams. It includes waiting for the body of the client.',
          's',
          [
            [p(0.5, 'gateway_own_duration_seconds', []), 'p50'],
            [p(0.99, 'gateway_own_duration_seconds', []), 'p99'],
          ],
        ),
        line('Requests by route', 'Requests each second, by the path of their route.', 'reqps', [
          ['sum by (http_route) (rate(gateway_requests_total{@}[@]))', '{{http_route}}'],
        ]),
        line('Statuses', 'Answers each second, by their status. 499: the client went away.', 'reqps', [
          [
            'sum by (http_response_status_code) (rate(http_server_request_duration_seconds_count{@}[@]))',
            '{{http_response_status_code}}',
          ],
        ]),
        line(
          'Errors by code',
          'Requests that ended with an error, each second, by the code in docs/errors.md.',
          'reqps',
          [['sum by (error_type) (rate(gateway_errors_total{@}[@]))', '{{error_type}}']],
        ),
        line('Limits met', 'Requests that a limit refused, each second, by the limit.', 'reqps', [
          ['sum by (limit) (rate(gateway_limits_met_total{@}[@]))', '{{limit}}'],
        ]),
        line('Bytes', 'Bytes of bodies each second: from clients, and to them.', 'Bps', [
          ['sum(rate(gateway_request_body_bytes_total{@}[@]))', 'from clients'],
          ['sum(rate(gateway_response_body_bytes_total{@}[@]))', 'to clients'],
        ]),
        line('Connections', 'Connections that clients have open, and how many of these are WebSockets.', 'short', [
          ['sum(gateway_client_connections{@})', 'connections'],
          ['sum(gateway_websockets{@})', 'WebSockets'],
        ]),
      ],
    },
    {
      title: 'Configuration and store',
      panels: [
        stat(
          'Files are valid',
          '1: the files on disk are what serves. 0: they have errors, and the last good configuration serves.',
          'short',
          'min(gateway_config_valid{@})',
          { steps: GOOD_IS_ONE },
        ),
        stat(
          'Store works',
          '1: the store can be used. 0: requests that need it are refused.',
          'short',
          'min(gateway_store_up{@})',
          { steps: GOOD_IS_ONE },
        ),
        stat(
          'Configurations',
          'How many different configurations serve at the same time. More than 1 for long: an instance missed a change.',
          'short',
          'count(count by (digest) (gateway_config_info{@}))',
          {
            steps: [
              [null, 'blue'],
              [2, 'orange'],
            ],
          },
        ),
        stat(
          'Generation',
          'Counts up with each reload that changed something.',
          'none',
          'max(gateway_config_generation{@})',
        ),
        stat(
          'Problems',
          'Errors and warnings that the files had when they were last read.',
          'short',
          'sum(gateway_config_problems{@})',
          { steps: GOOD_IS_ZERO },
        ),
        stat(
          'Not stored',
          'What could not be stored in the last hour.',
          'short',
          'sum(increase(gateway_store_faults_total{@}[1h]))',
          { steps: GOOD_IS_ZERO },
        ),
        line('Reloads', 'Reloads each second, by their result.', 'ops', [
          ['sum by (result) (rate(gateway_config_reloads_total{@}[@]))', '{{result}}'],
        ]),
        line('Time of the store', 'Time of one operation of the store, at the 99th percentile.', 's', [
          [p(0.99, 'gateway_store_operation_duration_seconds', ['operation']), '{{operation}}'],
        ]),
        line('Operations of the store', 'Operations each second, by their result.', 'ops', [
          ['sum by (result) (rate(gateway_store_operation_duration_seconds_count{@}[@]))', '{{result}}'],
        ]),
      ],
    },
    {
      title: 'Process',
      panels: [
        line(
          'Delay of the event loop',
          'How late the event loop was between two scrapes. Above 0.1 s all requests of the process wait noticeably.',
          's',
          [
            ['max(nodejs_eventloop_delay_p99_seconds{@})', 'p99'],
            ['max(nodejs_eventloop_delay_max_seconds{@})', 'max'],
          ],
        ),
        line('CPU', 'CPU seconds each second: 1 is a whole core.', 'short', [
          ['sum by (cpu_mode) (rate(process_cpu_time_seconds_total{@}[@]))', '{{cpu_mode}}'],
          ['max(nodejs_eventloop_utilization_ratio{@})', 'busiest event loop'],
        ]),
        line('Memory', 'Memory of all processes.', 'bytes', [
          ['sum(process_memory_usage_bytes{@})', 'resident'],
          ['sum(v8js_memory_heap_used_bytes{@})', 'heap in use'],
        ]),
        line(
          'Memory that is reserved',
          'Memory reserved for large bodies and for what is translated, by its use.',
          'bytes',
          [['sum by (use) (gateway_memory_held_bytes{@})', '{{use}}']],
        ),
        line('Uptime', 'Time since the oldest process of each instance started. It falls when one starts again.', 's', [
          ['max by (instance) (process_uptime_seconds{@})', '{{instance}}'],
        ]),
      ],
    },
  ],
}

const models = {
  uid: 'model-gateway-models',
  title: 'Model gateway: models',
  description: 'How fast models answer, how often they fail, and what is used of them.',
  variables: [variable('model', 'gateway_requests_total', 'model', 'Model')],
  rows: [
    {
      title: 'Traffic',
      panels: [
        line('Requests by model', 'Requests each second, by the model as the configuration calls it.', 'reqps', [
          [`sum by (model) (rate(gateway_requests_total{@${MODEL}}[@]))`, '{{model}}'],
        ]),
        line(
          'Errors by model',
          'Share of requests for a model that ended with an error of an upstream or of the gateway.',
          'percentunit',
          [[share('gateway_requests_total', 'model', `${MODEL},${FAILED}`, MODEL), '{{model}}']],
          { max: 1 },
        ),
        line(
          'Duration of attempts, p95',
          'Time of one attempt at an upstream, waiting for a connection included.',
          's',
          [
            [
              p(0.95, 'gen_ai_client_operation_duration_seconds', ['gen_ai_request_model'], GEN_AI),
              '{{gen_ai_request_model}}',
            ],
          ],
        ),
      ],
    },
    {
      title: 'Speed',
      panels: [
        line(
          'Time to first token, p50',
          'Of streams: from sending the request to the first content of the answer.',
          's',
          [
            [
              p(0.5, 'gen_ai_server_time_to_first_token_seconds', ['gen_ai_request_model'], `${GEN_AI},stream="true"`),
              '{{gen_ai_request_model}}',
            ],
          ],
        ),
        line(
          'Time to first token, p95',
          'Of streams: from sending the request to the first content of the answer.',
          's',
          [
            [
              p(0.95, 'gen_ai_server_time_to_first_token_seconds', ['gen_ai_request_model'], `${GEN_AI},stream="true"`),
              '{{gen_ai_request_model}}',
            ],
          ],
        ),
        line('Time for each output token, p50', 'Of streams that ended well, for each token after the first.', 's', [
          [
            p(0.5, 'gen_ai_server_time_per_output_token_seconds', ['gen_ai_request_model'], GEN_AI),
            '{{gen_ai_request_model}}',
          ],
        ]),
      ],
    },
    {
      title: 'Use',
      panels: [
        line('Input tokens', 'Input tokens each second, as upstreams report them.', 'suffix: tokens/s', [
          [
            `sum by (gen_ai_request_model) (rate(gen_ai_client_token_usage_sum{@${GEN_AI},gen_ai_token_type="input"}[@]))`,
            '{{gen_ai_request_model}}',
          ],
        ]),
        line('Output tokens', 'Output tokens each second, as upstreams report them.', 'suffix: tokens/s', [
          [
            `sum by (gen_ai_request_model) (rate(gen_ai_client_token_usage_sum{@${GEN_AI},gen_ai_token_type="output"}[@]))`,
            '{{gen_ai_request_model}}',
          ],
        ]),
        bars(
          'Cost in the last 24 hours',
          'What each model cost, by the prices of the configuration.',
          'currencyUSD',
          `sum by (model) (increase(gateway_cost_usd_total{@${MODEL}}[24h]))`,
          '{{model}}',
        ),
      ],
    },
    {
      title: 'Instead of the model that was asked for',
      panels: [
        line('Fallbacks', 'Attempts at another model each second, because the requested one failed.', 'ops', [
          [`sum by (model, fallback) (rate(gateway_fallbacks_total{@${MODEL}}[@]))`, '{{model}} → {{fallback}}'],
        ]),
        line(
          'Canaries',
          'First attempts each second at models that have a canary, by who got them and how they ended.',
          'ops',
          [
            [
              `sum by (model, part, outcome) (rate(gateway_canary_attempts_total{@${MODEL}}[@]))`,
              '{{model}}: {{part}} {{outcome}}',
            ],
          ],
        ),
        line('Canaries at rest', '1: the canary failed more often than the others, and gets no requests.', 'short', [
          [`max by (model, canary) (gateway_canary_resting{@${MODEL}})`, '{{model}} → {{canary}}'],
        ]),
        line('Copies for mirrors', 'Copies of requests each second. dropped: too many were under way.', 'ops', [
          [
            `sum by (model, mirror, outcome) (rate(gateway_mirror_copies_total{@${MODEL}}[@]))`,
            '{{model}} → {{mirror}}: {{outcome}}',
          ],
        ]),
        line('Copies under way', 'Copies of requests that have not ended.', 'short', [
          [`sum by (model, mirror) (gateway_mirror_copies_in_flight{@${MODEL}})`, '{{model}} → {{mirror}}'],
        ]),
        line(
          'Lost in translation',
          'Members of requests each second that the protocol of the upstream does not have.',
          'ops',
          [[`sum by (model, member) (rate(gateway_translation_losses_total{@${MODEL}}[@]))`, '{{model}}: {{member}}']],
        ),
      ],
    },
  ],
}

const keys = {
  uid: 'model-gateway-cost',
  title: 'Model gateway: keys and cost',
  description: 'Who uses what, what it costs, and what is left of limits and budgets.',
  rows: [
    {
      title: 'Cost',
      panels: [
        line('Cost by model', 'What requests cost, as it would add up in an hour at the present rate.', 'currencyUSD', [
          ['sum by (model) (rate(gateway_cost_usd_total{@}[@])) * 3600', '{{model}}'],
        ]),
        line(
          'Cost by upstream',
          'What requests cost, as it would add up in an hour at the present rate.',
          'currencyUSD',
          [['sum by (upstream) (rate(gateway_cost_usd_total{@}[@])) * 3600', '{{upstream}}']],
        ),
        bars(
          'Cost by group in the last 24 hours',
          'What the keys of each group cost, without its inner groups.',
          'currencyUSD',
          'sum by (group) (increase(gateway_group_cost_usd_total{@}[24h]))',
          '{{group}}',
        ),
      ],
    },
    {
      title: 'Budgets and limits',
      panels: [
        line(
          'Budgets left',
          'What is left of each budget in its window, less what requests in flight hold.',
          'currencyUSD',
          [['min by (scope, name, window) (gateway_budget_left_usd{@})', '{{scope}} {{name}}, {{window}}']],
        ),
        line('Budgets used', 'What has been spent of each budget in its window.', 'currencyUSD', [
          ['max by (scope, name, window) (gateway_budget_used_usd{@})', '{{scope}} {{name}}, {{window}}'],
        ]),
        bars(
          'Fullest limits',
          'Share that is used of the limits which are closest to their end. Those of keys only with per_key.',
          'percentunit',
          'topk(20, max by (scope, name, limit, window) (gateway_limit_used_ratio{@}))',
          '{{scope}} {{name}}: {{limit}}, {{window}}',
          { max: 1 },
        ),
      ],
    },
    {
      title: 'Groups',
      panels: [
        line('Requests by group', 'Requests each second of the keys of each group.', 'reqps', [
          ['sum by (group) (rate(gateway_group_requests_total{@}[@]))', '{{group}}'],
        ]),
        line('Tokens by group', 'Tokens each second of the keys of each group, as in the ledger.', 'suffix: tokens/s', [
          ['sum by (group) (rate(gateway_group_tokens_total{@}[@]))', '{{group}}'],
        ]),
      ],
    },
    {
      title: 'Keys, if admin.metrics has per_key',
      panels: [
        bars(
          'Keys by cost',
          'The twenty keys that cost most in the last 24 hours.',
          'currencyUSD',
          'topk(20, sum by (key) (increase(gateway_key_cost_usd_total{@}[24h])))',
          '{{key}}',
        ),
        bars(
          'Keys by tokens',
          'The twenty keys that used most tokens in the last 24 hours.',
          'short',
          'topk(20, sum by (key) (increase(gateway_key_tokens_total{@}[24h])))',
          '{{key}}',
        ),
        bars(
          'Keys by requests',
          'The twenty keys that sent most requests in the last 24 hours.',
          'short',
          'topk(20, sum by (key) (increase(gateway_key_requests_total{@}[24h])))',
          '{{key}}',
        ),
      ],
    },
  ],
}

const upstreams = {
  uid: 'model-gateway-upstreams',
  title: 'Model gateway: health of upstreams',
  description: 'Which upstreams fail, rest or are slow, and where requests wait for them.',
  variables: [variable('upstream', 'gateway_upstream_breaker_state', 'upstream', 'Upstream')],
  rows: [
    {
      title: 'Health',
      panels: [
        line(
          'Breakers',
          '0: asked as declared. 1: one request is to show whether it works again. 2: asked last.',
          'short',
          [[`max by (upstream) (gateway_upstream_breaker_state{@${UPSTREAM}})`, '{{upstream}}']],
        ),
        line('Models and secrets at rest', 'Parts of upstreams that are asked last because they fail.', 'short', [
          [`max by (upstream, part) (gateway_upstream_breaker_parts_open{@${UPSTREAM}})`, '{{upstream}}: {{part}}'],
        ]),
        line('Changes of breakers', 'How often something of an upstream began to be asked last, or ceased to.', 'ops', [
          [
            `sum by (upstream, state) (rate(gateway_upstream_breaker_changes_total{@${UPSTREAM}}[@]))`,
            '{{upstream}}: {{state}}',
          ],
        ]),
      ],
    },
    {
      title: 'Attempts',
      panels: [
        line('Attempts by outcome', 'Attempts each second: ok, status, or the phase in which they failed.', 'ops', [
          [`sum by (outcome) (rate(gateway_upstream_attempts_total{@${UPSTREAM}}[@]))`, '{{outcome}}'],
        ]),
        line(
          'Failures by upstream',
          'Share of attempts that failed. Those that were skipped or cancelled are not counted.',
          'percentunit',
          [
            [
              share(
                'gateway_upstream_attempts_total',
                'upstream',
                `${UPSTREAM},outcome!~"ok|skipped|cancelled"`,
                `${UPSTREAM},outcome!~"skipped|cancelled"`,
              ),
              '{{upstream}}',
            ],
          ],
          { max: 1 },
        ),
        line('Errors by upstream', 'Attempts each second that ended with an error, by its code.', 'ops', [
          [
            `sum by (upstream, error_type) (rate(gen_ai_client_operation_duration_seconds_count{@${UPSTREAM},error_type!=""}[@]))`,
            '{{upstream}}: {{error_type}}',
          ],
        ]),
        line('Statuses', 'Answers of upstreams each second, by their status.', 'ops', [
          [
            `sum by (upstream, http_response_status_code) (rate(http_client_request_duration_seconds_count{@${UPSTREAM}}[@]))`,
            '{{upstream}}: {{http_response_status_code}}',
          ],
        ]),
        line('Duration of requests to upstreams, p95', 'From sending a request to the end of its answer.', 's', [
          [p(0.95, 'http_client_request_duration_seconds', ['upstream'], UPSTREAM), '{{upstream}}'],
        ]),
        line('Time to first content, p95', 'From sending a request to the first content of its answer.', 's', [
          [p(0.95, 'gen_ai_server_time_to_first_token_seconds', ['upstream'], UPSTREAM), '{{upstream}}'],
        ]),
      ],
    },
    {
      title: 'Connections',
      panels: [
        line('Connections in use', 'Connections to the upstream that have a request.', 'short', [
          [`sum by (upstream) (gateway_upstream_pool_in_use{@${UPSTREAM}})`, '{{upstream}}'],
        ]),
        line(
          'Requests that wait',
          'Requests that wait for a free place among the connections to the upstream.',
          'short',
          [[`sum by (upstream) (gateway_upstream_pool_waiting{@${UPSTREAM}})`, '{{upstream}}']],
        ),
        line('Wait for a place, p95', 'Only of requests that waited.', 's', [
          [p(0.95, 'gateway_upstream_queue_duration_seconds', ['upstream'], UPSTREAM), '{{upstream}}'],
        ]),
        line('Time to connect, p95', 'Until a connection is ready to send: near zero where one was open.', 's', [
          [p(0.95, 'gateway_upstream_connect_duration_seconds', ['upstream'], UPSTREAM), '{{upstream}}'],
        ]),
      ],
    },
  ],
}

const tasks = {
  uid: 'model-gateway-tasks',
  title: 'Model gateway: tasks',
  description:
    'Long-running work such as videos: how much there is, how long it takes, and whether clients hear of it.',
  rows: [
    {
      title: 'Tasks',
      panels: [
        line('Tasks by state', 'Tasks in the store. Ended ones are there as long as they are kept.', 'short', [
          ['max by (task_kind, state) (gateway_tasks{@})', '{{task_kind}}: {{state}}'],
        ]),
        line('Oldest task', 'Age of the oldest task that has not ended.', 's', [
          ['max by (task_kind, state) (gateway_task_oldest_age_seconds{@})', '{{task_kind}}: {{state}}'],
        ]),
        line('Changes', 'Tasks each second that came to a state.', 'ops', [
          ['sum by (state) (rate(gateway_task_changes_total{@}[@]))', '{{state}}'],
        ]),
        line('Duration', 'Time from the creation of a task to its good end.', 's', [
          [p(0.5, 'gateway_task_duration_seconds', ['task_kind'], ',state="succeeded"'), '{{task_kind}} p50'],
          [p(0.95, 'gateway_task_duration_seconds', ['task_kind'], ',state="succeeded"'), '{{task_kind}} p95'],
        ]),
        line('Ended tasks', 'Tasks each second that ended, by how.', 'ops', [
          ['sum by (task_kind, state) (rate(gateway_task_duration_seconds_count{@}[@]))', '{{task_kind}}: {{state}}'],
        ]),
        line(
          'Notifications',
          'Attempts each second to notify clients by webhooks. again: it will be tried again.',
          'ops',
          [['sum by (outcome) (rate(gateway_webhook_attempts_total{@}[@]))', '{{outcome}}']],
        ),
      ],
    },
    {
      title: 'Store behind them',
      panels: [
        line('Operations of the store', 'Operations each second, by their name.', 'ops', [
          ['sum by (operation) (rate(gateway_store_operation_duration_seconds_count{@}[@]))', '{{operation}}'],
        ]),
        line('Time of the store, p95', 'Time of one operation of the store.', 's', [
          [p(0.95, 'gateway_store_operation_duration_seconds', ['operation']), '{{operation}}'],
        ]),
      ],
    },
  ],
}

/** By the names of their files in deploy/grafana. */
export const DASHBOARDS = { overview, models, 'keys-and-cost': keys, 'upstream-health': upstreams, tasks }
