"""Where the nightly task runs: a way out, and none in."""

from ipaddress import ip_address

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct


class Network(Construct):
    """Public subnets and no NAT, which would cost more than all the rest of a small stage.

    `cluster` is the address of a Dask scheduler that the task may reach, where there is one.
    """

    def __init__(self, scope: Construct, name: str, cluster: str | None = None) -> None:
        super().__init__(scope, name)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            max_azs=2,
            nat_gateways=0,
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="Public",
                    subnet_type=ec2.SubnetType.PUBLIC,
                    cidr_mask=26,
                    map_public_ip_on_launch=False,
                )
            ],
            ip_addresses=ec2.IpAddresses.cidr("10.60.0.0/24"),
            # It would be emptied by a function of its own; nothing is in it.
            restrict_default_security_group=False,
        )
        self.outwards = ec2.SecurityGroup(
            self,
            "Outwards",
            vpc=self.vpc,
            description="The nightly task: out over TLS, nothing in",
            allow_all_outbound=False,
        )
        self.outwards.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(443), "AWS and the image")
        if cluster is not None:
            host, _, port = cluster.partition("://")[2].rpartition(":")
            self.outwards.add_egress_rule(_peer(host), ec2.Port.tcp(int(port)), "The Dask cluster")

    def configuration(self) -> scheduler.CfnSchedule.NetworkConfigurationProperty:
        """As Scheduler starts a task in it. The public address is how it reaches AWS."""
        return scheduler.CfnSchedule.NetworkConfigurationProperty(
            awsvpc_configuration=scheduler.CfnSchedule.AwsVpcConfigurationProperty(
                subnets=[subnet.subnet_id for subnet in self.vpc.public_subnets],
                security_groups=[self.outwards.security_group_id],
                assign_public_ip="ENABLED",
            )
        )


def _peer(host: str) -> ec2.IPeer:
    """One address, or anything where the host is a name."""
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return ec2.Peer.any_ipv4()
    if address.version == 4:
        return ec2.Peer.ipv4(f"{address}/32")
    return ec2.Peer.ipv6(f"{address}/128")
