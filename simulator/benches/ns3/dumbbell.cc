// SPDX-License-Identifier: Apache-2.0 OR MIT
// TCP flows over one drop-tail bottleneck in ns-3 (3.37 of Debian 12, or newer): what the
// simulator is timed against. Every figure is printed as key=value.
//
// --topo=dumbbell  a pair of hosts for each flow and two routers
// --topo=shared    one pair of hosts for all flows and two routers
// --topo=direct    one pair of hosts that own the bottleneck: the least that ns-3 can do
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <sstream>

using namespace ns3;

namespace
{

struct Arguments
{
    std::string rate = "10Mbps", access = "1Gbps", flows = "TcpCubic", topo = "dumbbell";
    std::string marks, recovery, ledbatSs = "yes";
    double rtt = 0.1, accessDelay = 0, dur = 180, stagger = 0, target = 0;
    // Linux: the retransmission timer is srtt + max(200 ms, 4 rttvar), which ns-3 only does
    // when both are 0.2.
    double minRto = 0.2, gran = 0.2;
    uint32_t queue = 86, buf = 16 << 20, seg = 1448, delack = 2, trace = 1;
};

struct Flow
{
    std::string law;
    double start, stop;
    Ptr<PacketSink> sink;
    uint64_t bytesAtStop;
    std::vector<uint64_t> bytesAtMarks;
};

struct Counters
{
    uint64_t drops = 0, pkts = 0;
    double waitedSeconds = 0;
};

Arguments args;
std::vector<Flow> flows;
// The queue is first in, first out: the times of entering are in the order of leaving.
std::deque<Time> enteredAt;
Counters now;
std::vector<Counters> atMarks;

void OnEnqueue(Ptr<const Packet>)
{
    enteredAt.push_back(Simulator::Now());
}

void OnDequeue(Ptr<const Packet>)
{
    now.waitedSeconds += (Simulator::Now() - enteredAt.front()).GetSeconds();
    now.pkts++;
    enteredAt.pop_front();
}

void OnDrop(Ptr<const Packet>)
{
    now.drops++;
}

std::vector<std::string> Split(const std::string& text, char separator)
{
    std::vector<std::string> parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
    {
        parts.push_back(part);
    }
    return parts;
}

// "TcpCubic*100@0-60,TcpLedbat@45-135": 100 flows of the one kind, then one of the other.
void ParseFlows()
{
    for (const auto& entry : Split(args.flows, ','))
    {
        auto at = Split(entry, '@');
        auto times = Split(at[0], '*');
        int count = times.size() > 1 ? std::stoi(times[1]) : 1;
        double start = 0, stop = args.dur;
        if (at.size() > 1)
        {
            auto span = Split(at[1], '-');
            start = std::stod(span[0]);
            stop = span.size() > 1 ? std::stod(span[1]) : args.dur;
        }
        for (int i = 0; i < count; i++)
        {
            flows.push_back({times[0], start + i * args.stagger, stop, nullptr, 0, {}});
        }
    }
}

void ParseArguments(int argc, char* argv[])
{
    CommandLine cmd;
    cmd.AddValue("rate", "bottleneck rate", args.rate);
    cmd.AddValue("rtt", "base RTT, s", args.rtt);
    cmd.AddValue("queue", "bottleneck queue, packets", args.queue);
    cmd.AddValue("access", "access rate", args.access);
    cmd.AddValue("accessDelay", "one-way delay of each access link, s", args.accessDelay);
    cmd.AddValue("flows", "law[*n][@start-stop],...", args.flows);
    cmd.AddValue("dur", "simulated seconds", args.dur);
    cmd.AddValue("stagger", "time between starts within an entry, s", args.stagger);
    cmd.AddValue("seg", "segment size", args.seg);
    cmd.AddValue("buf", "socket buffers, bytes", args.buf);
    cmd.AddValue("target", "TargetDelay of LEDBAT, ms (0: ns-3's default)", args.target);
    cmd.AddValue("ledbatSs", "slow start of LEDBAT, yes|no", args.ledbatSs);
    cmd.AddValue("topo", "dumbbell|shared|direct", args.topo);
    cmd.AddValue("marks", "times between which results are printed", args.marks);
    cmd.AddValue("trace", "1: trace the bottleneck", args.trace);
    cmd.AddValue("minRto", "s", args.minRto);
    cmd.AddValue("gran", "clock granularity of the retransmission timer, s", args.gran);
    cmd.AddValue("recovery", "recovery without ns3::, if not ns-3's default", args.recovery);
    cmd.AddValue("delack", "segments for each acknowledgement", args.delack);
    cmd.Parse(argc, argv);
}

void SetDefaults()
{
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(args.seg));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(args.buf));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(args.buf));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(args.delack));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(args.minRto)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(Seconds(args.gran)));
    Config::SetDefault("ns3::TcpLedbat::SSParam", StringValue(args.ledbatSs));
    if (!args.recovery.empty())
    {
        Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                           TypeIdValue(TypeId::LookupByName("ns3::" + args.recovery)));
    }
    if (args.target > 0)
    {
        Config::SetDefault("ns3::TcpLedbat::TargetDelay", TimeValue(MilliSeconds(args.target)));
    }
}

// Flow control has to be off: else the traffic control layer drops before the queue.
NetDeviceContainer Join(NodeContainer ends, const std::string& rate, double delay, uint32_t queue)
{
    PointToPointHelper link;
    link.DisableFlowControl();
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(std::llround(delay * 1e9))));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queue)));
    return link.Install(ends);
}

// Senders are in 10.1/16, receivers in 10.2/16, each access link is a /24.
Ipv4Address AddHost(Ptr<Node> host, Ptr<Node> router, int side, uint32_t index)
{
    auto devices = Join(NodeContainer(host, router), args.access, args.accessDelay, 1000000);
    std::ostringstream base;
    base << "10." << side + 1 << "." << index << ".0";
    Ipv4AddressHelper addresses;
    addresses.SetBase(base.str().c_str(), "255.255.255.0");
    auto interfaces = addresses.Assign(devices);
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(host->GetObject<Ipv4>())
        ->SetDefaultRoute(interfaces.GetAddress(1), 1);
    return interfaces.GetAddress(0);
}

void StartFlow(Flow& flow, uint32_t index, Ptr<Node> from, Ptr<Node> to, Ipv4Address address)
{
    for (const auto& node : {from, to})
    {
        node->GetObject<TcpL4Protocol>()->SetAttribute(
            "SocketType",
            TypeIdValue(TypeId::LookupByName("ns3::" + flow.law)));
    }
    uint16_t port = 5000 + index;
    PacketSinkHelper sink("ns3::TcpSocketFactory",
                          InetSocketAddress(Ipv4Address::GetAny(), port));
    auto sinks = sink.Install(to);
    sinks.Start(Seconds(0));
    flow.sink = DynamicCast<PacketSink>(sinks.Get(0));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(address, port));
    bulk.SetAttribute("MaxBytes", UintegerValue(0));
    bulk.SetAttribute("SendSize", UintegerValue(args.seg));
    auto sources = bulk.Install(from);
    sources.Start(Seconds(flow.start));
    Simulator::Schedule(Seconds(flow.stop), [&flow] { flow.bytesAtStop = flow.sink->GetTotalRx(); });
    if (flow.stop < args.dur)
    {
        sources.Stop(Seconds(flow.stop));
        // A closed socket still sends what its buffer holds, and there is no abort.
        Simulator::Schedule(Seconds(flow.stop), [from] { from->GetObject<Ipv4>()->SetDown(1); });
    }
}

NetDeviceContainer Build()
{
    bool isDumbbell = args.topo == "dumbbell", isDirect = args.topo == "direct";
    uint32_t pairs = isDumbbell ? flows.size() : 1;
    NodeContainer senders, receivers, routers;
    senders.Create(pairs);
    receivers.Create(pairs);
    if (isDirect)
    {
        routers = NodeContainer(senders.Get(0), receivers.Get(0));
    }
    else
    {
        routers.Create(2);
    }
    InternetStackHelper stack;
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.InstallAll();

    double delay = args.rtt / 2 - (isDirect ? 0 : 2 * args.accessDelay);
    auto bottleneck = Join(routers, args.rate, delay, args.queue);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    auto interfaces = addresses.Assign(bottleneck);
    std::vector<Ipv4Address> targets(pairs, interfaces.GetAddress(1));
    for (uint32_t i = 0; !isDirect && i < pairs; i++)
    {
        AddHost(senders.Get(i), routers.Get(0), 0, i);
        targets[i] = AddHost(receivers.Get(i), routers.Get(1), 1, i);
    }
    if (!isDirect)
    {
        routing.GetStaticRouting(routers.Get(0)->GetObject<Ipv4>())
            ->AddNetworkRouteTo("10.2.0.0", "255.255.0.0", interfaces.GetAddress(1), 1);
        routing.GetStaticRouting(routers.Get(1)->GetObject<Ipv4>())
            ->AddNetworkRouteTo("10.1.0.0", "255.255.0.0", interfaces.GetAddress(0), 1);
    }
    for (uint32_t i = 0; i < flows.size(); i++)
    {
        uint32_t pair = isDumbbell ? i : 0;
        StartFlow(flows[i], i, senders.Get(pair), receivers.Get(pair), targets[pair]);
    }
    return bottleneck;
}

void Measure(NetDeviceContainer bottleneck, const std::vector<double>& marks)
{
    auto queue = DynamicCast<PointToPointNetDevice>(bottleneck.Get(0))->GetQueue();
    if (args.trace)
    {
        queue->TraceConnectWithoutContext("Enqueue", MakeCallback(&OnEnqueue));
        queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&OnDequeue));
        queue->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&OnDrop));
    }
    for (double mark : marks)
    {
        Simulator::Schedule(Seconds(mark), [] {
            atMarks.push_back(now);
            for (auto& flow : flows)
            {
                flow.bytesAtMarks.push_back(flow.sink->GetTotalRx());
            }
        });
    }
}

void PrintFlows()
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < flows.size(); i++)
    {
        const auto& flow = flows[i];
        double mbps = flow.bytesAtStop * 8e-6 / (flow.stop - flow.start);
        sum += mbps;
        squares += mbps * mbps;
        if (flows.size() <= 10)
        {
            std::printf("flow=%u law=%s start=%g stop=%g goodput_mbps=%.4f\n", i, flow.law.c_str(),
                        flow.start, flow.stop, mbps);
        }
    }
    std::printf("sum_goodput_mbps=%.4f jain=%.4f\n", sum, sum * sum / (flows.size() * squares));
}

void PrintMarks(const std::vector<double>& marks)
{
    for (size_t m = 0; m < marks.size(); m++)
    {
        Counters before = m ? atMarks[m - 1] : Counters();
        double from = m ? marks[m - 1] : 0;
        uint64_t pkts = atMarks[m].pkts - before.pkts;
        double waited = atMarks[m].waitedSeconds - before.waitedSeconds;
        std::printf("from=%g to=%g qdelay_ms=%.3f drops=%lu", from, marks[m],
                    pkts ? waited / pkts * 1e3 : 0.0,
                    (unsigned long)(atMarks[m].drops - before.drops));
        for (uint32_t i = 0; i < flows.size() && flows.size() <= 10; i++)
        {
            const auto& at = flows[i].bytesAtMarks;
            uint64_t bytes = at[m] - (m ? at[m - 1] : 0);
            std::printf(" f%u_mbps=%.4f", i, bytes * 8e-6 / (marks[m] - from));
        }
        std::printf("\n");
    }
}

} // namespace

int main(int argc, char* argv[])
{
    ParseArguments(argc, argv);
    ParseFlows();
    SetDefaults();
    std::vector<double> marks;
    for (const auto& mark : Split(args.marks, ','))
    {
        marks.push_back(std::stod(mark));
    }
    marks.push_back(args.dur);
    Measure(Build(), marks);

    Simulator::Stop(Seconds(args.dur + 1e-6));
    auto start = std::chrono::steady_clock::now();
    Simulator::Run();
    std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;

    PrintFlows();
    PrintMarks(marks);
    std::printf("drops=%lu mean_qdelay_ms=%.4f bott_pkts=%lu events=%lu wall_s=%.4f\n",
                (unsigned long)now.drops,
                now.pkts ? now.waitedSeconds / now.pkts * 1e3 : 0.0,
                (unsigned long)now.pkts,
                (unsigned long)Simulator::GetEventCount(),
                wall.count());
    Simulator::Destroy();
    return 0;
}
