# frozen_string_literal: true

# Plays sequences through the AWS SDK for Ruby and says what it did; ../README.md describes what is
# read and written. Replaced: the handler that sends requests, the clock, sleeping, Kernel.rand.
#
# SPDX-License-Identifier: MIT

require 'json'
require 'stringio'

ENV.delete_if { |name, _| name.start_with?('AWS_') }
ENV['AWS_CONFIG_FILE'] = ENV['AWS_SHARED_CREDENTIALS_FILE'] = '/dev/null'

require 'aws-sdk-kms'

BILLION = 1_000_000_000
START_S = 1_000

# What the SDK is told about time and chance.
class World
  attr_accessor :now, :draw, :slept, :waited

  def initialize
    @now = 0 # nanoseconds
    @slept = [] # the sleeps between attempts, in seconds
    @waited = 0 # for send tokens, in nanoseconds
  end

  def sleep(seconds)
    @slept << seconds
    @now += (seconds * BILLION).round
  end

  # By at least a nanosecond.
  def wait(seconds)
    step = [1, (seconds * BILLION).ceil].max
    @waited += step
    @now += step
  end
end

WORLD = World.new

def Kernel.sleep(seconds)
  WORLD.sleep(seconds)
end

def Kernel.rand(*range)
  raise "unexpected draw from #{range}" unless range.empty?

  WORLD.draw
end

# The limiter sleeps on its mutex.
class Mutex
  def sleep(seconds)
    WORLD.wait(seconds)
  end
end

module Aws
  module Util
    def self.monotonic_seconds
      START_S + WORLD.now / BILLION.to_f
    end
  end
end

# Credentials that can be fetched again, as those of a role.
class FreshCredentials < Aws::Credentials
  def refresh!; end
end

# Answers what the sequence says, and notes what the SDK did.
class Player
  attr_reader :attempts

  def initialize(config)
    @config = config
  end

  def begin(call)
    WORLD.now += call['pause']
    WORLD.slept = []
    WORLD.waited = 0
    @answers = call['answers'].each
    @attempts = []
  end

  def answer
    describe_last
    @attempts << { sent: WORLD.now, waited: WORLD.waited / BILLION.to_f }
    WORLD.waited = 0
    answer = @answers.next
    WORLD.now += answer['takes']
    WORLD.draw = answer['draw']
    answer
  end

  def describe_last
    return if @attempts.empty?

    last = @attempts.last
    last[:delay] = WORLD.slept.pop
    raise 'more than one sleep between two attempts' unless WORLD.slept.empty?
    return if @config.retry_mode == 'legacy'

    last[:quota] = @config.retry_quota.instance_variable_get(:@available_capacity)
    return unless @config.retry_mode == 'adaptive'

    limiter = @config.client_rate_limiter
    last[:measured_rate] = limiter.instance_variable_get(:@measured_tx_rate)
    last[:fill_rate] = limiter.instance_variable_get(:@fill_rate)
  end
end

# The SDK's own sending handler, without the network.
class Seahorse::Client::NetHttp::Handler
  def call(context)
    answer = $player.answer
    response = context.http_response
    if answer['transport']
      response.signal_error(Seahorse::Client::NetworkingError.new(transport_error(answer), 'failed'))
    else
      response.signal_headers(answer['status'], answer['headers'])
      response.signal_data(answer['body'])
      response.signal_done
    end
    Seahorse::Client::Response.new(context: context)
  end

  def transport_error(answer)
    case answer['transport']
    when 'refused' then Errno::ECONNREFUSED.new
    when 'reset' then Errno::ECONNRESET.new
    when 'timeout' then Net::ReadTimeout.new
    when 'connect-timeout' then Net::OpenTimeout.new
    else raise "unknown transport error #{answer['transport']}"
    end
  end
end

def play(sequence)
  WORLD.now = 0
  mode = sequence['mode']
  options = { region: 'us-east-1', retry_mode: mode, credentials: FreshCredentials.new('id', 'key') }
  limit = sequence['max_attempts']
  options.merge!(mode == 'legacy' ? { retry_limit: limit - 1 } : { max_attempts: limit }) if limit
  client = Aws::KMS::Client.new(options)
  $player = Player.new(client.config)
  calls = sequence['calls'].map do |call|
    $player.begin(call)
    begin
      client.list_keys
      succeeded = true
    rescue Aws::Errors::ServiceError, Seahorse::Client::NetworkingError
      succeeded = false
    end
    $player.describe_last
    { succeeded: succeeded, ended: WORLD.now, attempts: $player.attempts }
  end
  { calls: calls }
end

$stdout.sync = true
puts JSON.generate(sdk: 'ruby', version: "core #{Aws::CORE_GEM_VERSION}")
$stdin.each_line { |line| puts JSON.generate(play(JSON.parse(line))) }
